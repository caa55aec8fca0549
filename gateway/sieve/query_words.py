"""Words of people for the words of tools: a query's `show` also finds `get` and `list`, 課題 finds `issue`.

Tools of other servers have English texts alone; through these, Japanese finds them too.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

from search.tokens import PARTICLES, tokenize, tokenize_query

# Each line is one group: any of its words finds the others.
_GROUPS = """
get read show view see fetch open retrieve look 取得 見る 表示 読む 確認
list all show browse enumerate 一覧 全部 すべて
search find look query lookup 検索 探す 調べる 見つける
create add new make insert open start file register save write 作成 作る 追加 登録 新規
update edit change modify rename set revise 更新 編集 変更 修正
delete remove erase drop trash destroy cancel forget 取り消す 削除 消す 除去
close finish complete done resolve 完了 閉じる 終了 クローズ
move transfer shift 移動 移す
comment reply note remark discussion コメント 返信
assign owner assignee responsible 担当 割り当て
issue ticket bug task 課題 チケット 不具合
task todo to-do タスク やること
event meeting appointment schedule 予定 会議 イベント 打ち合わせ
calendar カレンダー
page document doc article wiki ページ 文書 記事
file ファイル
folder directory tree フォルダ
database table db データベース 表
row record entry レコード 行
repository repo project リポジトリ
branch ブランチ
commit コミット
merge マージ 統合
pull pr プルリクエスト プル
review レビュー
release version リリース 版
user member person people account ユーザー 利用者 人
team チーム
label tag ラベル タグ
status state transition 状態 ステータス
sprint スプリント
board ボード
workflow action run pipeline build job ワークフロー 実行
log logs ログ
attachment attach upload asset 添付
free busy available availability 空き
reminder remind alert リマインダー
memory remember knowledge fact 記憶 覚える
relation link relate connection 関係
history past revision 履歴
"""

_KATAKANA_WORD = re.compile(r"[\u30a1-\u30fa\u30fc]{2,}")


class QueryWord(NamedTuple):
    """A word of a query: what is asked for, then words that may be meant by it. A document without the token `begin`
    does not have it."""

    tokens: tuple[str, ...]
    begin: str = ""


# Who asks wants to read.
_QUESTION_WORDS = frozenset(tokenize("what when where which who whose how many"))
_JAPANESE_QUESTIONS = ("何", "どの", "どれ", "どこ", "誰", "いつ", "教えて")
_READING = QueryWord(("", *tokenize("list get search show read find")))

# Words of a sentence that say nothing of a tool.
_EMPTY = frozenset(
    tokenize(
        "a an and are at be can do for from how i in is it me my need of on or please so some that the this to "
        "want was we what where which who will with you your"
    )
)


@cache
def _load_groups() -> tuple[Mapping[str, tuple[str, ...]], tuple[tuple[str, tuple[str, ...]], ...]]:
    """Load the related tokens of English tokens, and those of Japanese words."""
    english: dict[str, dict[str, None]] = {}
    japanese: list[tuple[str, tuple[str, ...]]] = []
    for line in _GROUPS.strip().split("\n"):
        words = line.split()
        tokens = tuple(dict.fromkeys(token for word in words if word.isascii() for token in tokenize(word)))
        japanese += ((word, tokens) for word in words if not word.isascii())
        for token in tokens:
            english.setdefault(token, {}).update(dict.fromkeys(other for other in tokens if other != token))
    return {token: tuple(others) for token, others in english.items()}, tuple(japanese)


def read_query_words(query: str, limit: int) -> Sequence[QueryWord]:
    """Read the words of a query, at most `limit` of them. Of a Japanese word that is known, there is one of the English
    ones besides, whose first token is empty."""
    english, japanese = _load_groups()
    tokens = tokenize_query(query)
    text = unicodedata.normalize("NFKC", query)
    is_question = not _QUESTION_WORDS.isdisjoint(tokens) or any(word in text for word in _JAPANESE_QUESTIONS)
    tokens = [token for token in tokens if not (token in _EMPTY or _has_particle(token))] or tokens
    begins = _find_begins(text)
    words = [QueryWord((token, *english.get(token, ())), begins.get(token, "")) for token in tokens]
    words += (QueryWord(("", *related)) for word, related in japanese if word in text)
    words += [_READING] * is_question
    return words[:limit]


def _has_particle(token: str) -> bool:
    """Check whether a pair of characters is where a word meets a particle: を完 tells nothing of 完了."""
    return len(token) == 2 and not PARTICLES.isdisjoint(token)


def _find_begins(text: str) -> Mapping[str, str]:
    """Find with which pair of characters the katakana word of each pair begins: バケット is no チケット, though it has
    two of its three pairs."""
    begins: dict[str, str] = {}
    for word in _KATAKANA_WORD.findall(text):
        pairs = list(tokenize(word))
        for pair in pairs:
            begins.setdefault(pair, pairs[0])
    return begins
