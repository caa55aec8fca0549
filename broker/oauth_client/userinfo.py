"""Account identity of a token or key, fetched from the vendor by harmless requests that the provider defines."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any, cast
from urllib.parse import urlsplit

import orjson

from broker.oauth_client.error_classifier import ClassifiedError, classify_by_status, classify_rate_limit, utc_now
from broker.oauth_client.token_response import read_account_fields, resolve_pointer, resolve_text
from broker.oauth_client.types import ErrorClass, GrantKind, RedactedExchange, VendorFailure
from broker.oauth_client.vendor_http import TransportFailure, VendorHttpClient, VendorRequest, VendorResponse
from broker.providers import error_reasons
from broker.providers.schema import AccountPointers, ApiKeyAuth, Provider
from broker.providers.templates import fill_url, resolve_settings
from core.errors import Invalid
from core.http.credential_headers import BEARER, InvalidCredentialForm, build_credential_header
from core.secret import Secret

MOST_SITES = 200
MOST_SITE_SCOPES = 200
LONGEST_KEY = 4_096


@dataclass(frozen=True, slots=True)
class AccountIdentity:
    """The account at the vendor. `id` stays the same when its name changes."""

    id: str
    name: str
    details: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class VendorSite:
    """One of the sites that a grant covers; `scopes` are those that count there."""

    id: str
    name: str
    url: str
    scopes: tuple[str, ...]


class UserinfoClient:
    """Asks who it is. Vendor behaviour never raises; a setting of the client that is wrong does (Invalid)."""

    def __init__(self, http: VendorHttpClient, *, now: Callable[[], datetime] = utc_now) -> None:
        self._http = http
        self._now = now

    async def fetch_account(
        self, provider: Provider, settings: Mapping[str, str], access: Secret, extra: Mapping[str, str]
    ) -> AccountIdentity | VendorFailure | None:
        """Fetch the account of a grant; None where the provider defines no way to identify it.

        `extra` is that of the grant's tokens.

        Raises:
            Invalid: a setting is missing or wrong.
        """
        account = provider.account
        if account is None:
            return None
        if account.source != "url":
            return _build_identity(extra) if extra.get("id") else _build_unreadable_failure("account", "", None, 0.0)
        url = fill_url(account.url or "", resolve_settings(provider, settings))
        if not url:
            return None
        return await self._fetch_identity(
            "account", url, _build_bearer_headers(access, account.headers), account.id, account
        )

    async def list_sites(
        self, provider: Provider, settings: Mapping[str, str], access: Secret
    ) -> tuple[VendorSite, ...] | VendorFailure:
        """The sites that a grant covers; none where the provider knows no sites.

        Raises:
            Invalid: a setting is missing or wrong.
        """
        if provider.sites is None:
            return ()
        url = fill_url(provider.sites.url, resolve_settings(provider, settings))
        reply = await self._fetch_json(
            "sites", VendorRequest("GET", url, _build_bearer_headers(access, provider.sites.headers))
        )
        if isinstance(reply, VendorFailure):
            return reply
        document, _ = reply
        if not isinstance(document, list):
            return _build_unreadable_failure("sites", url, 200, 0.0)
        where = provider.sites
        rows = (
            VendorSite(
                resolve_text(entry, where.id),
                resolve_text(entry, where.name),
                resolve_text(entry, where.site_url) if where.site_url else "",
                _filter_texts(resolve_pointer(entry, where.scopes)) if where.scopes else (),
            )
            for entry in cast("list[Any]", document)[:MOST_SITES]
        )
        return tuple(site for site in rows if site.id)

    async def check_reach(
        self, provider: Provider, settings: Mapping[str, str], access: Secret
    ) -> bool | VendorFailure | None:
        """Check whether a grant can access anything; None where the provider defines no check.

        Raises:
            Invalid: a setting is missing or wrong.
        """
        where = provider.reach
        if where is None:
            return None
        url = fill_url(where.url, resolve_settings(provider, settings))
        reply = await self._fetch_json("reach", VendorRequest("GET", url, _build_bearer_headers(access, where.headers)))
        if isinstance(reply, VendorFailure):
            return reply
        return resolve_pointer(reply[0], where.count) not in (0, None)

    async def check_key(
        self, provider: Provider, settings: Mapping[str, str], secret: Secret
    ) -> AccountIdentity | VendorFailure:
        """Check a key at the vendor and return its account. Of a pair, `secret` is user name and key as they are
        stored.

        Raises:
            Invalid: the provider has no such request, the key has not the provider's form, so it was sent nowhere, or a
                setting is wrong.
        """
        key = provider.key
        if key is None:
            raise Invalid(f"{provider.title} does not support keys; connect it on the connect page")
        if key.check_url is None or key.id is None:
            raise Invalid(f"the provider {provider.title} defines no request to check a key")
        name, value = build_key_header(provider.title, key, secret)
        url = fill_url(key.check_url, resolve_settings(provider, settings))
        return await self._fetch_identity("key", url, {**key.check_headers, name: value}, key.id, key)

    async def _fetch_identity(
        self, kind: GrantKind, url: str, headers: Mapping[str, str], at: str, where: AccountPointers
    ) -> AccountIdentity | VendorFailure:
        reply = await self._fetch_json(kind, VendorRequest("GET", url, headers))
        if isinstance(reply, VendorFailure):
            return reply
        document, seconds = reply
        account_fields = read_account_fields(at, where, document)
        return (
            _build_identity(account_fields)
            if account_fields.get("id")
            else _build_unreadable_failure(kind, url, 200, seconds)
        )

    async def fetch_json(self, kind: GrantKind, url: str, headers: Mapping[str, str]) -> object | VendorFailure:
        """The JSON document at a URL; `headers` carry the credential."""
        reply = await self._fetch_json(kind, VendorRequest("GET", url, headers))
        return reply if isinstance(reply, VendorFailure) else reply[0]

    @staticmethod
    def build_unreadable_failure(kind: GrantKind, url: str) -> VendorFailure:
        """The failure of an answer that does not tell what it should."""
        return _build_unreadable_failure(kind, url, 200, 0.0)

    async def _fetch_json(self, kind: GrantKind, request: VendorRequest) -> tuple[object, float] | VendorFailure:
        began = self._http.clock()
        reply = await self._http.send(request)
        seconds = self._http.clock() - began
        if isinstance(reply, TransportFailure):
            return _build_failure(
                kind, request.url, reply.status, ClassifiedError(reply.error_class, reply.reason), seconds
            )
        if reply.status != 200:
            return _build_failure(kind, request.url, reply.status, _classify_refusal(kind, reply, self._now()), seconds)
        try:
            return orjson.loads(reply.body), seconds
        except orjson.JSONDecodeError:
            return _build_unreadable_failure(kind, request.url, 200, seconds)


def build_key_header(title: str, key: ApiKeyAuth, secret: Secret) -> tuple[str, str]:
    """The header that carries a key of the provider's form, which is checked before it is sent anywhere.

    Raises:
        Invalid: the text says what is expected.
    """
    own = secret.reveal().partition(":")[2] if key.scheme == "basic_pair" else secret.reveal()
    colon = ", without a colon" if key.scheme == "basic_user" else ""
    expected = f"a {title} key must be one word of at most {LONGEST_KEY} ASCII characters{colon}"
    if len(own) > LONGEST_KEY:
        raise Invalid(expected)
    if key.prefixes and not own.startswith(key.prefixes):
        raise Invalid(f"a {title} key must begin with {' or '.join(key.prefixes)}")
    try:
        return build_credential_header(key.credential_scheme, secret)
    except InvalidCredentialForm:
        raise Invalid(expected) from None


def _build_bearer_headers(access: Secret, headers: Mapping[str, str]) -> dict[str, str]:
    name, value = build_credential_header(BEARER, access)
    return {**headers, name: value}


def _build_identity(account_fields: Mapping[str, str]) -> AccountIdentity:
    details = {name: value for name, value in account_fields.items() if name not in ("id", "name")}
    return AccountIdentity(account_fields["id"], account_fields.get("name", ""), MappingProxyType(details))


def _classify_refusal(kind: GrantKind, reply: VendorResponse, now: datetime) -> ClassifiedError:
    """A resource refuses a token or key by its status (RFC 6750 §3.1), whatever else it says."""
    if reply.status not in (401, 403):
        return classify_by_status(reply, now)
    if reply.status == 403 and (limit := classify_rate_limit(reply, now)) is not None:
        return limit
    word = (
        error_reasons.KEY_REFUSED
        if kind == "key"
        else error_reasons.REVOKED
        if reply.status == 401
        else error_reasons.SCOPE
    )
    return ClassifiedError(ErrorClass.PERMANENT, word)


def _build_failure(
    kind: GrantKind, url: str, status: int | None, classified: ClassifiedError, seconds: float
) -> VendorFailure:
    parts = urlsplit(url)
    exchange = RedactedExchange(
        parts.netloc, parts.path[:200], kind, seconds, status, classified.error_class, classified.reason
    )
    return VendorFailure(classified.error_class, classified.reason, exchange, classified.retry_after, status)


def _build_unreadable_failure(kind: GrantKind, url: str, status: int | None, seconds: float) -> VendorFailure:
    return _build_failure(kind, url, status, ClassifiedError(ErrorClass.UNCERTAIN, error_reasons.UNREADABLE), seconds)


def _filter_texts(value: object) -> tuple[str, ...]:
    many = cast("list[Any]", value)[:MOST_SITE_SCOPES] if isinstance(value, list) else []
    return tuple(entry for entry in many if isinstance(entry, str) and len(entry) <= 200)
