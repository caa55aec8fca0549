"""Identity providers that the settings name: GitHub, Google, Microsoft, or any OpenID provider."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from broker.authorization_server.jwks_cache import JwksCache
from broker.identity.providers.id_token import build_openid_account, clean_person_name, normalize_email, raise_for_error
from broker.identity.providers.identity_provider import IdentityProvider, SignInFailed, SignInFlow, VerifiedAccount
from broker.identity.providers.idp_client import IdpClient, require_object
from broker.identity.providers.oidc import OidcProfile, OidcProvider, StandardOidcProfile
from broker.identity.providers.provider_metadata import Clock, ProviderMetadata
from broker.identity.settings import ProviderSettings
from broker.providers.metadata_reader import MetadataReader
from core.http.json_documents import JsonDocumentFetcher

_DIRECTORY = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_TRUE = (True, 1, "1", "true", "True")


@dataclass(frozen=True, slots=True)
class MicrosoftProfile:
    """`tenant` is the directory's id, or a domain of it.

    Whoever runs a directory can write any address into its users' `email` and `preferred_username`. `email` counts only
    where the optional claim `xms_edov` says that the owner of its domain has been verified
    (learn.microsoft.com/entra/identity-platform/optional-claims-reference); `preferred_username` never does.
    """

    base_url: str
    tenant: str
    asks_userinfo: bool = False

    @property
    def issuer(self) -> str:
        return f"{self.base_url}/{self.tenant}/v2.0"

    def is_issuer(self, named: str) -> bool:
        directory = self._get_directory(named)
        return bool(directory) and (not _DIRECTORY.fullmatch(self.tenant.lower()) or directory == self.tenant.lower())

    def build_account(self, metadata: ProviderMetadata, claims: Mapping[str, Any]) -> VerifiedAccount:
        if claims.get("tid") != self._get_directory(metadata.issuer):
            raise SignInFailed("provider", "id_token tid")
        email = normalize_email(claims.get("email")) if claims.get("xms_edov") in _TRUE else ""
        name = clean_person_name(claims.get("name"))
        return VerifiedAccount(metadata.issuer, str(claims["sub"]), email, bool(email), name)

    def _get_directory(self, issuer: str) -> str:
        """The directory that an issuer of this cloud is for; empty where it is none."""
        directory = issuer.removeprefix(f"{self.base_url}/").removesuffix("/v2.0")
        matches = issuer == f"{self.base_url}/{directory}/v2.0" and _DIRECTORY.fullmatch(directory)
        return directory if matches else ""


GOOGLE_DOMAINS = ("gmail.com", "googlemail.com")


@dataclass(frozen=True, slots=True)
class GoogleProfile:
    """Anybody may once have made a Google account of a company's address, and keep it when they leave. Google is sure
    only of its own domains and of a Workspace's, which the claim `hd` names
    (developers.google.com/identity/gsi/web/guides/verify-google-id-token)."""

    issuer: str
    asks_userinfo: bool = True

    def is_issuer(self, named: str) -> bool:
        return named == self.issuer

    def build_account(self, metadata: ProviderMetadata, claims: Mapping[str, Any]) -> VerifiedAccount:
        domain = str(claims.get("email", "")).rpartition("@")[2].lower()
        workspace = isinstance(claims.get("hd"), str) and bool(claims["hd"])
        return build_openid_account(metadata.issuer, claims, trusted=workspace or domain in GOOGLE_DOMAINS)


SCOPE = "read:user user:email"
HEADERS: Mapping[str, str] = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"}
MAX_CODE_LENGTH = 1_024


class GitHubProvider:
    """Implements :class:`broker.identity.providers.identity_provider.IdentityProvider`.

    An account is known by its number: names can be
    given up and taken by somebody else."""

    def __init__(self, settings: ProviderSettings, outgoing: IdpClient) -> None:
        self.id = settings.id
        self.label = settings.label
        self._settings = settings
        self._outgoing = outgoing

    async def start(self, flow: SignInFlow) -> str:
        async with self._open_client() as client:
            url, _ = client.create_authorization_url(
                f"{self._settings.base_url}/login/oauth/authorize",
                redirect_uri=flow.redirect_uri,
                scope=SCOPE,
                state=flow.state,
                code_verifier=flow.verifier,
            )
        return url

    async def finish(self, flow: SignInFlow, query: Mapping[str, str]) -> VerifiedAccount:
        base, api = self._settings.base_url, self._settings.api_url
        if query.get("iss", base) not in (base, f"{base}/login/oauth"):
            raise SignInFailed("provider", "answer of another issuer")
        raise_for_error(query)
        if not 1 <= len(query.get("code", "")) <= MAX_CODE_LENGTH:
            raise SignInFailed("provider", "answer without code")
        async with self._open_client() as client:
            url = f"{base}/login/oauth/access_token"
            token = await self._outgoing.redeem_code(client, url, flow.redirect_uri, query["code"], flow.verifier)
            bearer = token.get("access_token")
            if not isinstance(bearer, str):
                raise SignInFailed("provider", "token")
            user = require_object(
                await self._outgoing.fetch_json(client, f"{api}/user", bearer=bearer, headers=HEADERS)
            )
            emails = await self._outgoing.fetch_json(client, f"{api}/user/emails", bearer=bearer, headers=HEADERS)
        return _build_account(base, user, emails)

    def _open_client(self) -> Any:
        return self._outgoing.open_client(self._settings.client_id, self._settings.client_secret, "client_secret_post")


def _build_account(issuer: str, user: Mapping[str, Any], emails: object) -> VerifiedAccount:
    number = user.get("id")
    if not isinstance(number, int) or isinstance(number, bool):
        raise SignInFailed("provider", "user id")
    email = _find_primary_email(cast("Sequence[Any]", emails) if isinstance(emails, list) else ())
    return VerifiedAccount(
        issuer, str(number), email, bool(email), clean_person_name(user.get("name") or user.get("login"))
    )


def _find_primary_email(emails: Sequence[Any]) -> str:
    """The primary address, if GitHub has verified it."""
    for entry in emails[:1_000]:
        if not isinstance(entry, dict):
            continue
        email = cast("Mapping[str, Any]", entry)
        if email.get("primary") is True and email.get("verified") is True:
            return normalize_email(email.get("email"))
    return ""


def build_profile(settings: ProviderSettings) -> OidcProfile | None:
    """The rules of an OpenID provider; None for GitHub, which is none."""
    match settings.kind:
        case "github":
            return None
        case "microsoft":
            return MicrosoftProfile(settings.base_url, settings.tenant)
        case "google":
            return GoogleProfile(settings.issuer)
        case "oidc":
            return StandardOidcProfile(settings.issuer)


class IdentityProviderFactory:
    """Builds providers that share one client, and one cache of keys. None of them is asked anything yet."""

    def __init__(self, http: JsonDocumentFetcher, *, clock: Clock) -> None:
        self._outgoing, self._metadata = IdpClient(http), MetadataReader(http)
        self._keys = JwksCache(http, clock=lambda: clock().timestamp())
        self._clock = clock

    def build(self, settings: ProviderSettings) -> IdentityProvider:
        """The provider that the settings name."""
        profile = build_profile(settings)
        if profile is None:
            return GitHubProvider(settings, self._outgoing)
        return OidcProvider(
            settings, profile, self._outgoing, metadata=self._metadata, keys=self._keys, clock=self._clock
        )
