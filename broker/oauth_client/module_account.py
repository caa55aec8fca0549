"""Account lookup at a service's own address, by the request that the module's manifest names."""

import re
from collections.abc import Container, Mapping

from broker.oauth_client.token_response import resolve_text
from broker.oauth_client.types import ErrorClass, RedactedExchange, VendorFailure
from broker.oauth_client.userinfo import AccountIdentity, UserinfoClient
from broker.providers import error_reasons
from core.http.credential_headers import CredentialScheme, InvalidCredentialForm, build_credential_header
from core.http.origins import get_origin
from core.module_manifest import ModuleManifest
from core.secret import Secret

USER_AGENT = "MCPist"
_PLACEHOLDER = re.compile(r"\{([a-z][a-z0-9_]{0,39})\}")
_SEGMENT = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._~-]{1,200}", re.ASCII)


class ModuleAccountClient:
    """Asks services whose a credential is. Vendor behaviour never raises."""

    def __init__(self, vendor: UserinfoClient) -> None:
        self._vendor = vendor

    async def fetch_account(
        self,
        module: ModuleManifest,
        base_url: str,
        scheme: CredentialScheme,
        secret: Secret,
        origins: Container[str],
        attributes: Mapping[str, str],
    ) -> AccountIdentity | VendorFailure:
        """The account at the service at `base_url`, whose placeholders `attributes` fill. The secret is sent to
        `origins` alone."""
        account = module.account
        url = fill_base_url(base_url, attributes)
        if account is None or not url or not _is_within(url, origins):
            return _build_unsent_failure()
        try:
            name, value = build_credential_header(scheme, secret)
        except InvalidCredentialForm:
            return _build_unsent_failure()
        headers = {"User-Agent": USER_AGENT, **account.headers, name: value}
        reply = await self._vendor.fetch_json("key", url.rstrip("/") + account.path, headers)
        if isinstance(reply, VendorFailure):
            return reply
        account_name = resolve_text(reply, account.name)
        return (
            AccountIdentity(account_name, account_name)
            if account_name
            else self._vendor.build_unreadable_failure("key", url)
        )


def fill_base_url(base_url: str, attributes: Mapping[str, str]) -> str:
    """A base URL with its placeholders filled, each by one segment of a path; "" where one is missing."""
    names = _PLACEHOLDER.findall(base_url)
    if not all(_SEGMENT.fullmatch(attributes.get(name, "")) for name in names):
        return ""
    return _PLACEHOLDER.sub(lambda match: attributes[match[1]], base_url)


def _is_within(url: str, origins: Container[str]) -> bool:
    try:
        return get_origin(url) in origins
    except ValueError:
        return False


def _build_unsent_failure() -> VendorFailure:
    exchange = RedactedExchange("", "", "key", 0.0, None, ErrorClass.SERVICE, error_reasons.URL_REFUSED)
    return VendorFailure(ErrorClass.SERVICE, error_reasons.URL_REFUSED, exchange)
