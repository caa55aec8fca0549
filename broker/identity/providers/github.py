"""GitHub, or a GitHub Enterprise server: OAuth with PKCE, and the person from its API. It has no ID tokens."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from broker.identity.providers.claims import clean_person_name, normalize_email, raise_for_error
from broker.identity.providers.identity_provider import SignInFailed, SignInFlow, VerifiedAccount
from broker.identity.providers.idp_client import IdpClient, require_object
from broker.identity.settings import ProviderSettings

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
        found = cast("Mapping[str, Any]", entry)
        if found.get("primary") is True and found.get("verified") is True:
            return normalize_email(found.get("email"))
    return ""
