"""Catalogue of causes: why a connection does not work, in English and in Japanese, for every surface that tells it.

A new cause is an entry here and the place that finds it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Cause:
    """Texts of one cause. `en` is a clause without a full stop and `ja` a sentence, for people; `model` is shown to the
    caller of a tool, with {title} of the service and {whose} account it is. One that is `transient` passes by itself or
    is the administrator's, so that connecting again would not help."""

    en: str
    ja: str
    model: str = ""
    transient: bool = False

    def render_page(self, language: str) -> str:
        """Return the sentence of a page."""
        return self.ja if language == "ja" else f"{self.en[0].upper()}{self.en[1:]}."


OTHER = Cause(
    "the vendor refuses, and gives no reason that we know",
    "サービスがこの接続を受け付けなくなりました。",
    "{title} refuses {whose}: it has expired or was revoked there",
)
STORED_UNREADABLE = "stored_unreadable"
"""Our own row cannot be read; `unreadable` alone is the vendor's answer."""

_RECONNECT: Mapping[str, Cause] = {
    "revoked": Cause(
        "the vendor no longer accepts the grant: access was taken back there, or used up elsewhere",
        "サービス側でアクセスが取り消されたため、この接続は受け付けられません。",
    ),
    "expired": Cause(
        "the connection has run out, because it was not used for long or the vendor limits its time",
        "長期間使われなかったか、サービス側の期限により、接続の有効期限が切れました。",
        "the access to {whose} at {title} has run out",
    ),
    "lost_rotation": Cause(
        "the vendor's answer was lost while access was being renewed, and it is not given twice",
        "アクセスの更新中にサービスからの応答が失われ、接続も失われました。操作に問題はありません。",
        "an answer of {title} was lost on its way, and with it the access to {whose}",
    ),
    "scope": Cause(
        "the grant does not cover what is needed",
        "サービスが許可した権限が足りません。",
        "{title} granted less for {whose} than is needed",
    ),
    "account_disabled": Cause(
        "the account is disabled at the vendor",
        "サービス側でアカウントが無効になっています。",
        "{title} says that {whose} is disabled there",
    ),
    "interaction": Cause(
        "the vendor wants the person to sign in or to consent there again",
        "サービスが、もう一度サインインまたは同意することを求めています。",
        "{title} wants the owner of {whose} to sign in or to agree there again",
    ),
    "rejected": Cause(
        "the vendor does not accept it any more: it has expired or was revoked there",
        "トークンが拒否されました。サービス側で取り消されたか、期限が切れています。",
    ),
    "elsewhere": Cause(
        "the service's base URL was changed after it was connected, so its token is not sent there; connect it again "
        "if the new address is right",
        "接続後にサービスのベース URL が変更されたため、トークンはそこへ送られません。"
        "新しいアドレスが正しければ、再接続してください。",
        "{title}'s base URL changed after {whose} had been connected, so its token is no longer sent",
    ),
    "no_site": Cause(
        "the service needs a site, and it was connected without one",
        "サービスにはサイトの選択が必要ですが、選択されずに接続されました。",
        "{title} needs a site, and {whose} was connected without one",
    ),
    STORED_UNREADABLE: Cause(
        "it was changed in the database and cannot be read",
        "保存された内容がデータベースで変更されたため、読み取れません。",
        "what is stored of {whose} at {title} was changed and cannot be read",
    ),
    "needs_reauth": Cause("it has to be connected again", "再接続が必要です。"),
    "disabled": Cause("an administrator has switched it off", "管理者が無効にしました。"),
    "ending": Cause(
        "the vendor gives access for a limited time, whatever is done",
        "サービスは期限付きでのみアクセスを許可しています。",
    ),
    "code_refused": Cause(
        "the vendor does not accept the code that the browser brought",
        "ブラウザーが渡したコードがサービスに受け付けられませんでした。",
    ),
    "key_refused": Cause("the vendor does not accept the key", "キーがサービスに受け付けられませんでした。"),
}
_WARNINGS: Mapping[str, Cause] = {
    "no_reach": Cause(
        "its app is installed nowhere at the vendor, so tools find nothing; the link says where to install it",
        "アプリがサービス側のどこにもインストールされていないため、ツールは何も見つけられません。"
        "インストール先はリンクのページにあります。",
        "{title} is connected, but its app is installed nowhere there, so tools find nothing. {url} says where to "
        "install it.",
    ),
}
_OAUTH_CLIENT: Mapping[str, Cause] = {
    "client_refused": Cause(
        "the vendor does not know the client id, or the secret is wrong",
        "クライアント ID が知られていないか、シークレットが正しくありません。",
    ),
    "secret_expired": Cause("the client secret has run out", "クライアントシークレットの有効期限が切れています。"),
    "client_not_allowed": Cause(
        "the vendor does not allow our client this kind of grant",
        "MCPist が求めることが、このクライアントに許可されていません。",
    ),
    "scope_refused": Cause("the vendor refuses a scope that was asked for", "求めたスコープが拒否されています。"),
    "request_refused": Cause("the vendor calls our request wrong", "リクエストが正しくないとサービスが答えています。"),
    "redirect_uri_refused": Cause(
        "the redirect URI is not the one that is registered at the vendor",
        "リダイレクト URI がサービスに登録されたものと一致しません。",
    ),
    "not_found": Cause(
        "there is no token endpoint at the URL", "設定された URL にトークンエンドポイントがありません。"
    ),
    "redirected": Cause(
        "the token endpoint answers with a redirect, which is not followed",
        "トークンエンドポイントがリダイレクトを返しました。リダイレクトには従いません。",
    ),
    "registration_refused": Cause(
        "the server does not let our client register itself", "サーバーがクライアントの自動登録を許可していません。"
    ),
    "token_type": Cause(
        "the vendor gave a token that is none for an Authorization header",
        "Authorization ヘッダーに使えないトークンがサービスから返されました。",
    ),
    "url_refused": Cause(
        "MCPist is not allowed to reach the URL; MCPIST_ALLOWED_PRIVATE_HOSTS lists exceptions",
        "MCPist はこの URL に接続できません。例外は MCPIST_ALLOWED_PRIVATE_HOSTS で設定します。",
    ),
    "settings": Cause(
        "a setting of the OAuth client is missing or wrong",
        "OAuth クライアントの設定が不足しているか、正しくありません。",
    ),
}
_TRANSIENT: Mapping[str, Cause] = {
    "vendor": Cause(
        "the vendor cannot be reached, or asks to wait",
        "サービスに接続できないか、待つように求められています。",
        "{title} cannot be reached to renew the access to {whose} account, or asks to wait",
        transient=True,
    ),
    "refreshing": Cause(
        "the access is being renewed",
        "アクセスを更新しています。",
        "the access to {whose} account at {title} is being renewed just now",
        transient=True,
    ),
    "refused": Cause(
        OTHER.en,
        OTHER.ja,
        "{title} refuses an access that it has just renewed for {whose} account",
        transient=True,
    ),
    "in_doubt": Cause(
        "the vendor refuses it, and is asked again before anybody has to do something",
        "サービスが拒否しています。操作が必要かどうか、MCPist が自動で再確認します。",
        "{title} refuses {whose} account or key just now, and MCPist asks it again before anybody has to do something; "
        "if it was revoked there, {mend} at {url}",
        transient=True,
    ),
    "misconfigured": Cause(
        "the vendor refuses the OAuth client",
        "サービスが OAuth クライアントを拒否しています。",
        "{title} refuses the OAuth client of your company; an administrator has to look at it",
        transient=True,
    ),
}
_ATTEMPTS: Mapping[str, Cause] = {
    "not_sent": Cause("the vendor cannot be reached", "サービスに接続できません。"),
    "throttled": Cause("the vendor asks to wait", "サービスが待つように求めています。"),
    "uncertain": Cause("the vendor's last answer was lost", "サービスからの最後の応答が失われました。"),
    "permanent": Cause(
        "many accounts were refused at once; treated as a vendor outage",
        "多くのアカウントが同時に拒否されたため、サービスの障害とみなしています。",
    ),
    "address": Cause(
        "the host's name has no address that MCPist may reach",
        "ホスト名に MCPist が接続できるアドレスがありません。",
    ),
    "name": Cause("the name of the vendor's host cannot be looked up now", "サービスのホスト名を解決できません。"),
    "connect": Cause("no connection to the vendor", "サービスに接続できません。"),
    "tls": Cause("the vendor's certificate is not good", "サービスの証明書が正しくありません。"),
    "connect_timeout": Cause(
        "the vendor did not take the connection in time", "サービスへの接続が時間内に確立しませんでした。"
    ),
    "withdrawn": Cause("our own turn was over before anything was sent", "送信前に MCPist の処理時間が終わりました。"),
    "too_many_requests": Cause("the vendor has had too many requests", "サービスへのリクエストが多すぎます。"),
    "unavailable": Cause("the vendor is not available for now", "サービスは現在利用できません。"),
    "timeout": Cause("the vendor did not answer in time", "サービスが時間内に応答しませんでした。"),
    "cut_off": Cause("the connection broke before the answer was whole", "応答の途中で接続が切れました。"),
    "server_error": Cause("the vendor had an error of its own", "サービス側でエラーが発生しました。"),
    "unreadable": Cause(
        "the vendor's answer is not in a form that we know",
        "サービスの応答が認識できない形式です。",
        _RECONNECT[STORED_UNREADABLE].model,
    ),
    "too_large": Cause("the vendor's answer is too large", "サービスの応答が大きすぎます。"),
}
CAUSES: Mapping[str, Cause] = MappingProxyType({**_RECONNECT, **_WARNINGS, **_OAUTH_CLIENT, **_TRANSIENT, **_ATTEMPTS})
"""Every cause that a connection can have, by its fixed word."""
WARNINGS = frozenset(_WARNINGS)
"""Causes of an account that works, and whose owner had better do something."""


def find_cause(name: str) -> Cause:
    """Return the texts of a cause; :data:`OTHER` for a word that an older or newer version wrote."""
    return CAUSES.get(name, OTHER)
