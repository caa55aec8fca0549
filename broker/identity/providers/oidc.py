"""Any OpenID provider: authorization code with PKCE and nonce (OpenID Connect Core 1.0 §3.1, RFC 7636, RFC 9207)."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from broker.authorization_server.jwks_cache import JwksCache
from broker.identity.providers import id_token
from broker.identity.providers.id_token import build_openid_account, raise_for_error
from broker.identity.providers.identity_provider import SignInFailed, SignInFlow, VerifiedAccount
from broker.identity.providers.idp_client import IdpClient, require_object
from broker.identity.providers.provider_metadata import (
    CachedDocument,
    Clock,
    ProviderMetadata,
    read_metadata,
)
from broker.identity.settings import ProviderSettings
from broker.providers.metadata_reader import MetadataReader, MetadataUnavailable, get_openid_url

SCOPE = "openid email profile"
MAX_CODE_LENGTH = 8_192


class OidcProfile(Protocol):
    """Differences between OpenID Connect providers."""

    @property
    def issuer(self) -> str:
        """As it is configured; its metadata lies below it."""
        ...

    @property
    def asks_userinfo(self) -> bool:
        """Check whether to call the userinfo endpoint when the ID token has no e-mail address."""
        ...

    def is_issuer(self, named: str) -> bool:
        """Check whether the issuer in the metadata is the configured one."""
        ...

    def build_account(self, metadata: ProviderMetadata, claims: Mapping[str, Any]) -> VerifiedAccount:
        """Make an account of checked claims.

        Raises:
            SignInFailed: it is of somebody else's directory.
        """
        ...


@dataclass(frozen=True, slots=True)
class StandardOidcProfile:
    """A provider that keeps to the book."""

    issuer: str
    asks_userinfo: bool = True

    def is_issuer(self, named: str) -> bool:
        return named == self.issuer

    def build_account(self, metadata: ProviderMetadata, claims: Mapping[str, Any]) -> VerifiedAccount:
        return build_openid_account(metadata.issuer, claims)


class OidcProvider:
    """Implements :class:`broker.identity.providers.identity_provider.IdentityProvider`."""

    def __init__(
        self,
        settings: ProviderSettings,
        rules: OidcProfile,
        outgoing: IdpClient,
        *,
        metadata: MetadataReader,
        keys: JwksCache,
        clock: Clock,
    ) -> None:
        self.id = settings.id
        self.label = settings.label
        self._settings = settings
        self._rules = rules
        self._outgoing = outgoing
        self._clock = clock
        self._reader = metadata
        self._metadata = CachedDocument(self._fetch_metadata, clock)
        self._keys = keys

    async def start(self, flow: SignInFlow) -> str:
        metadata = await self._metadata.get()
        async with self._open_client() as client:
            url, _ = client.create_authorization_url(
                metadata.authorization_endpoint,
                redirect_uri=flow.redirect_uri,
                scope=SCOPE,
                state=flow.state,
                nonce=flow.nonce,
                code_verifier=flow.verifier,
            )
        return url

    async def finish(self, flow: SignInFlow, query: Mapping[str, str]) -> VerifiedAccount:
        metadata = await self._metadata.get()
        _check_response(metadata, query)
        async with self._open_client(choose_client_authentication(metadata)) as client:
            token = await self._outgoing.redeem_code(
                client, metadata.token_endpoint, flow.redirect_uri, query["code"], flow.verifier
            )
            expected = id_token.ExpectedClaims(
                metadata.issuer, self._settings.client_id, flow.nonce, metadata.algorithms
            )
            claims = await id_token.verify_id_token(
                token.get("id_token"), expected, self._keys.get_key_set(metadata.jwks_uri), self._clock().timestamp()
            )
            if self._rules.asks_userinfo and "email" not in claims and metadata.userinfo_endpoint:
                claims = {**claims, **await self._fetch_userinfo(client, metadata, token, str(claims["sub"]))}
        account = self._rules.build_account(metadata, claims)
        return replace(account, groups=id_token.read_groups(claims, self._settings.groups_claim))

    def _open_client(self, method: str = "client_secret_basic") -> Any:
        return self._outgoing.open_client(self._settings.client_id, self._settings.client_secret, method)

    async def _fetch_userinfo(
        self, client: Any, metadata: ProviderMetadata, token: Mapping[str, Any], subject: str
    ) -> Mapping[str, Any]:
        """Fetch the userinfo claims of the same subject (OpenID Connect Core 1.0 §5.3.2)."""
        bearer = token.get("access_token")
        if not isinstance(bearer, str):
            return {}
        reply = require_object(await self._outgoing.fetch_json(client, metadata.userinfo_endpoint, bearer=bearer))
        if reply.get("sub") != subject:
            raise SignInFailed("provider", "userinfo sub")
        wanted = ("email", "email_verified", "name", self._settings.groups_claim)
        return {name: reply[name] for name in wanted if name in reply}

    async def _fetch_metadata(self) -> ProviderMetadata:
        return await fetch_provider_metadata(self._reader, self._rules)


async def fetch_provider_metadata(reader: MetadataReader, profile: OidcProfile) -> ProviderMetadata:
    """The metadata that a provider publishes now.

    Raises:
        SignInFailed: there is none, or it is not this provider's.
    """
    try:
        document = await reader.fetch([get_openid_url(profile.issuer)], is_issuer=profile.is_issuer)
    except MetadataUnavailable as error:
        away = error.failure == "unreachable"
        raise SignInFailed("provider_away" if away else "provider", f"metadata {error.failure}") from None
    return read_metadata(document, profile.issuer)


def choose_client_authentication(metadata: ProviderMetadata) -> str:
    """How a client authenticates itself at the provider's token endpoint (RFC 6749 §2.3.1)."""
    return "client_secret_post" if "client_secret_post" in metadata.auth_methods else "client_secret_basic"


def _check_response(metadata: ProviderMetadata, query: Mapping[str, str]) -> None:
    """Check that the response comes from this provider (RFC 9207 §2.4), before any other parameter is used."""
    if "iss" not in query and metadata.sends_issuer:
        raise SignInFailed("provider", "answer without iss")
    if query.get("iss", metadata.issuer) != metadata.issuer:
        raise SignInFailed("provider", "answer of another issuer")
    raise_for_error(query)
    if not 1 <= len(query.get("code", "")) <= MAX_CODE_LENGTH:
        raise SignInFailed("provider", "answer without code")
