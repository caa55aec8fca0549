"""What an administrator sets for memos."""

from typing import Annotated

from modules.kit import ModuleSettings, describe_setting


class MemoSettings(ModuleSettings):
    """Settings of memos in a tenant."""

    max_chunk_chars: Annotated[
        int,
        describe_setting(
            "Characters of a chunk",
            "A memo without a summary is split into chunks of at most so many characters, an entry each",
            ja=("チャンクの文字数", "要約のないメモを分割するチャンクの最大文字数 (チャンクごとに 1 件)"),
            ge=100,
            le=4_000,
        ),
    ] = 2_000
    default_results: Annotated[
        int,
        describe_setting(
            "Results",
            "Results of a search that does not say how many",
            ja=("検索結果の数", "件数を指定しない検索が返す件数"),
            ge=1,
            le=50,
        ),
    ] = 5
    embedding_model: Annotated[
        str,
        describe_setting(
            "Embedding model",
            "Model of people whose first memo is yet to come, such as voyage-3-lite: its vendor gets their texts, by "
            "the tenant's key. Empty: that of this MCPist",
            ja=(
                "埋め込みモデル",
                "これから最初のメモを保存する人のモデル (例: voyage-3-lite)。"
                "本文はテナントのキーでベンダーに送信されます。"
                "空欄の場合は MCPist の既定のモデル",
            ),
            max_length=200,
            pattern=r"^(?:[\w.:/-]{1,195}(?:@[0-9]{1,4})?)?$",
        ),
    ] = ""
    keep_chunks: Annotated[
        bool,
        describe_setting(
            "Keep chunks",
            "Keep the text of a memo that has no summary. Without it only its vectors are kept",
            ja=("チャンクを保存", "要約のないメモの本文を保存します。オフの場合はベクトルのみを保存します"),
        ),
    ] = False
    keep_hashes: Annotated[
        bool,
        describe_setting(
            "Keep hashes",
            "Keep the SHA-256 of each memo's text, to compare texts. Short texts can be guessed from it",
            ja=("ハッシュを保存", "比較のためにメモ本文の SHA-256 を保存します。短い本文はハッシュから推測できます"),
        ),
    ] = False
