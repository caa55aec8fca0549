"""The trial of an identity provider before it is saved: all that can be found out without a person in a browser."""

from dataclasses import dataclass
from typing import Literal

from broker.authorization_server.jwks_cache import MAX_JWKS_BYTES, parse_jwks
from broker.identity.providers.identity_provider import SignInFailed
from broker.identity.providers.idp_client import IdpClient
from broker.identity.providers.oidc import choose_client_authentication, fetch_provider_metadata
from broker.identity.providers.provider_factory import build_profile
from broker.identity.providers.provider_metadata import ProviderMetadata
from broker.identity.settings import ProviderSettings
from broker.providers.metadata_reader import MetadataReader
from core.bilingual_text import BilingualText, say
from core.http.json_documents import DocumentUnavailable, JsonDocumentFetcher

CheckName = Literal["metadata", "keys", "client"]
CheckOutcome = Literal["ok", "failed", "unknown"]

_KNOWN_CLIENT = frozenset({"invalid_grant", "bad_verification_code"})
_UNKNOWN_CLIENT = frozenset({"invalid_client", "unauthorized_client", "incorrect_client_credentials"})
_METADATA_TEXTS = {
    "metadata refused": say(
        "its address may not be reached: a host in a private network has to be in MCPIST_ALLOWED_PRIVATE_HOSTS",
        "このアドレスには接続できません。プライベートネットワークのホストは "
        "MCPIST_ALLOWED_PRIVATE_HOSTS に追加してください",
    ),
    "metadata issuer": say(
        "the metadata there names another issuer: give the issuer exactly as the provider writes it",
        "メタデータの発行者が異なります。プロバイダーの表記どおりに発行者を入力してください",
    ),
    "metadata unreachable": say(
        "nothing answers at /.well-known/openid-configuration of the issuer now",
        "発行者の /.well-known/openid-configuration から応答がありません",
    ),
    "metadata wrong": say(
        "there is no OpenID metadata at /.well-known/openid-configuration of the issuer",
        "発行者の /.well-known/openid-configuration に OpenID のメタデータがありません",
    ),
    "algorithms": say(
        "the provider signs ID tokens by no asymmetric algorithm",
        "プロバイダーは ID トークンを非対称アルゴリズムで署名していません",
    ),
    "metadata": say(
        "the metadata lacks an address that sign-in needs, or has one that is not https",
        "サインインに必要なアドレスがメタデータにないか、https ではありません",
    ),
}


@dataclass(frozen=True, slots=True)
class ProviderCheck:
    """One thing that was tried. `message` is a text of ours; what a provider says is never shown."""

    check: CheckName
    outcome: CheckOutcome
    message: BilingualText

    @property
    def message_ja(self) -> str:
        return self.message.ja


class ProviderTrial:
    """Asks providers that are not stored yet. `http` is that of stored ones."""

    def __init__(self, http: JsonDocumentFetcher, public_url: str) -> None:
        self._http = http
        self._outgoing, self._reader = IdpClient(http), MetadataReader(http)
        self._public_url = public_url

    async def run(self, settings: ProviderSettings) -> tuple[ProviderCheck, ...]:
        """Every check that makes sense for this kind of provider, in order."""
        profile = build_profile(settings)
        if profile is None:
            url = f"{settings.base_url}/login/oauth/access_token"
            return (await self._check_client(settings, url, "client_secret_post"),)
        try:
            metadata = await fetch_provider_metadata(self._reader, profile)
        except SignInFailed as failed:
            return (ProviderCheck("metadata", "failed", _METADATA_TEXTS.get(failed.why, _METADATA_TEXTS["metadata"])),)
        return (
            ProviderCheck(
                "metadata",
                "ok",
                say(
                    "the provider's metadata is complete and names this issuer",
                    "プロバイダーのメタデータはそろっており、発行者も一致します",
                ),
            ),
            await self._check_keys(metadata),
            await self._check_client(settings, metadata.token_endpoint, choose_client_authentication(metadata)),
        )

    async def _check_keys(self, metadata: ProviderMetadata) -> ProviderCheck:
        try:
            keys = parse_jwks((await self._http.fetch_document(metadata.jwks_uri, MAX_JWKS_BYTES)).body)
        except DocumentUnavailable:
            return ProviderCheck(
                "keys",
                "failed",
                say("the keys that the metadata names cannot be fetched", "メタデータが示す鍵を取得できません"),
            )
        except ValueError:
            return ProviderCheck(
                "keys",
                "failed",
                say("what the metadata names as keys is no JWK set", "メタデータが示す鍵は JWK セットではありません"),
            )
        if not keys.by_id and not keys.unnamed:
            return ProviderCheck(
                "keys",
                "failed",
                say("the JWK set has no key that can check a signature", "JWK セットに署名を検証できる鍵がありません"),
            )
        return ProviderCheck(
            "keys",
            "ok",
            say("the provider's keys can check its ID tokens", "プロバイダーの鍵で ID トークンを検証できます"),
        )

    async def _check_client(self, settings: ProviderSettings, token_endpoint: str, method: str) -> ProviderCheck:
        redirect_uri = f"{self._public_url}/sign-in/callback/{settings.id}"
        try:
            async with self._outgoing.open_client(settings.client_id, settings.client_secret, method) as client:
                error = await self._outgoing.try_made_up_code(client, token_endpoint, redirect_uri)
        except SignInFailed:
            return ProviderCheck(
                "client",
                "failed",
                say(
                    "the provider's token endpoint cannot be reached",
                    "プロバイダーのトークンエンドポイントに接続できません",
                ),
            )
        if error in _KNOWN_CLIENT:
            return ProviderCheck(
                "client",
                "ok",
                say(
                    "the provider knows the client id and takes its secret",
                    "プロバイダーはクライアント ID とシークレットを受け付けました",
                ),
            )
        if error in _UNKNOWN_CLIENT:
            return ProviderCheck(
                "client",
                "failed",
                say(
                    "the provider refuses the client id or its secret",
                    "プロバイダーがクライアント ID またはシークレットを拒否しました",
                ),
            )
        if error == "redirect_uri_mismatch":
            return ProviderCheck(
                "client",
                "failed",
                say(
                    "register the redirect URI {uri} at the provider",
                    "リダイレクト URI {uri} をプロバイダーに登録してください",
                    uri=redirect_uri,
                ),
            )
        return ProviderCheck(
            "client",
            "unknown",
            say(
                "the provider does not tell whether the client is right: only a sign-in shows it",
                "クライアントが正しいかどうかをプロバイダーが示しません。サインインして確認してください",
            ),
        )
