"""How people and clients come in: identity providers, our authorization server or another. Read from one TOML file.

The file holds client secrets, so its owner alone may read it. Where there is none, nobody signs in by a provider and
our own authorization server runs with its defaults.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal, cast
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from broker.private_toml import read_toml
from core.secret import Secret

IDENTITY_FILE = "identity.toml"
MAX_FILE_BYTES = 256 * 1024
MAX_TRUSTED_HOSTS = 50
"""Of those that are stored; the file may name more."""
LOOPBACK_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})
GOOGLE_ISSUER = "https://accounts.google.com"
_HOST_PATTERN = re.compile(r"[0-9A-Za-z*]([0-9A-Za-z.*-]{0,251}[0-9A-Za-z*])?")
MULTI_TENANT_NAMES = frozenset({"common", "organizations", "consumers"})


def _validate_url(text: str) -> str:
    """An https URL, or http to this machine. Kept as it is: issuers are compared byte for byte."""
    parts = urlsplit(text)
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in LOOPBACK_HOSTS):
        raise ValueError("give a URL that begins with https:// (http:// only to this machine)")
    if not parts.hostname or "@" in parts.netloc or "?" in text or "#" in text or not text.isascii():
        raise ValueError("give a URL with a host, and without user, query and fragment")
    return text


def _validate_contact(text: str) -> str:
    """Validate the contact: an e-mail address, an https URL, or one line of text."""
    if not text.isprintable() or text != text.strip():
        raise ValueError("give one line of text, without blanks around it")
    return text


def _validate_host_pattern(text: str) -> str:
    """A host name in which ``*`` stands for any letters; one that could never match would shut its clients out."""
    if not _HOST_PATTERN.fullmatch(text):
        raise ValueError("give host names such as claude.ai or *.example.com, without https:// and without a port")
    return text


def _wrap_secret(value: object) -> object:
    if isinstance(value, str) and 1 <= len(value) <= 4096 and value == value.strip():
        return Secret(value)
    raise ValueError("give a text of 1 to 4096 characters without blanks around it")


Url = Annotated[str, Field(max_length=500), AfterValidator(_validate_url)]
# No unions with "": an error would name the field and the kind of its validator.
OptionalUrl = Annotated[str, Field(max_length=500), AfterValidator(lambda url: _validate_url(url) if url else "")]
BaseUrl = Annotated[OptionalUrl, AfterValidator(lambda url: url.removesuffix("/"))]
HostPattern = Annotated[str, AfterValidator(_validate_host_pattern)]
ClaimName = Annotated[str, Field(min_length=1, max_length=200)]


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, arbitrary_types_allowed=True)


class ProviderSettings(_Table):
    """An identity provider that people sign in at. `id` is part of its redirect URI, so it is not changed lightly.

    `issuer` is the provider's for oidc and google; `tenant` is the directory of microsoft; `base_url` and `api_url` are
    those of a GitHub Enterprise server, `base_url` also that of a national cloud of Microsoft. `groups_claim` is the
    claim of ID tokens that names groups.
    """

    id: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,39}$")]
    kind: Literal["google", "github", "microsoft", "oidc"]
    label: Annotated[str, Field(max_length=60)] = ""
    client_id: Annotated[str, Field(min_length=1, max_length=500)]
    client_secret: Annotated[Secret, BeforeValidator(_wrap_secret)]
    issuer: OptionalUrl = ""
    tenant: Annotated[str, Field(pattern=r"^([0-9A-Za-z][0-9A-Za-z.-]{0,252})?$")] = ""
    base_url: BaseUrl = ""
    api_url: BaseUrl = ""
    groups_claim: Annotated[str, Field(max_length=200)] = ""

    @model_validator(mode="before")
    @classmethod
    def _fill_defaults(cls, values: Any) -> Any:
        """The defaults of its kind."""
        table = _get_table(values)
        return values if table is None else {**_DEFAULTS.get(str(table.get("kind")), {}), **table}

    @model_validator(mode="after")
    def _check_complete(self) -> "ProviderSettings":
        for key, kinds in _KEYS.items():
            if bool(getattr(self, key)) and self.kind not in kinds:
                raise ValueError(f"{key} is not a key of kind {self.kind}")
        if self.kind == "oidc" and not self.issuer:
            raise ValueError("issuer is missing: the provider's issuer URL")
        if self.kind == "microsoft" and (not self.tenant or self.tenant.lower() in MULTI_TENANT_NAMES):
            raise ValueError("tenant must be the id of one directory, not common, organizations or consumers")
        return self


_DEFAULTS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "google": {"label": "Google", "issuer": GOOGLE_ISSUER},
        "github": {"label": "GitHub", "base_url": "https://github.com", "api_url": "https://api.github.com"},
        "microsoft": {
            "label": "Microsoft",
            "base_url": "https://login.microsoftonline.com",
            "groups_claim": "groups",
        },
        "oidc": {"label": "Single sign-on", "groups_claim": "groups"},
    }
)
_TRUST_KEYS = frozenset({"dynamic_registration", "client_metadata", "client_metadata_hosts"})
_KEYS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "issuer": frozenset({"oidc", "google"}),
        "tenant": frozenset({"microsoft"}),
        "base_url": frozenset({"github", "microsoft"}),
        "api_url": frozenset({"github"}),
        "groups_claim": frozenset({"oidc", "microsoft"}),
    }
)


class ClientTrust(_Table):
    """Which clients come in that no administrator has registered: those that register themselves, and those with a
    document on one of these hosts. An entry is a host name and may hold ``*`` as in ``*.example.com``; without entries,
    client ID metadata documents are off.
    """

    dynamic_registration: bool = False
    client_metadata_hosts: Annotated[tuple[HostPattern, ...], Field(max_length=MAX_TRUSTED_HOSTS, strict=False)] = (
        "*",
    )


class AuthorizationServerSettings(_Table):
    """Our own authorization server. An entry of `client_metadata_hosts` is a host name and may hold ``*`` as in
    ``*.example.com``; without entries, client ID metadata documents are off, as with `client_metadata` false."""

    enabled: bool = True
    dynamic_registration: bool = False
    client_metadata: bool = True
    client_metadata_hosts: Annotated[tuple[HostPattern, ...], Field(max_length=1000, strict=False)] = ("*",)
    access_token_minutes: Annotated[int, Field(ge=1, le=60)] = 10
    refresh_token_days: Annotated[int, Field(ge=1, le=365)] = 30
    grant_days: Annotated[int, Field(ge=1, le=3650)] = 180

    @property
    def trust(self) -> ClientTrust | None:
        """The trust in clients that the file sets; None if it says nothing of it."""
        if _TRUST_KEYS.isdisjoint(self.model_fields_set):
            return None
        hosts = self.client_metadata_hosts if self.client_metadata else ()
        return ClientTrust.model_construct(dynamic_registration=self.dynamic_registration, client_metadata_hosts=hosts)


class ExternalClaims(_Table):
    """In which claims of another server's tokens the tenant, the user and the scopes stand."""

    tenant: ClaimName = "tid"
    user: ClaimName = "email"
    scopes: ClaimName = "scope"


class ExternalSettings(_Table):
    """Another authorization server, in the place of ours.

    `audience` is what its tokens for MCPist name, the URL of /mcp if empty. `tenant` is the slug of the one tenant that
    all of them are for; else the tenant claim has a slug, or a key of `tenants`, whose value is the slug. `token_types`
    are what its tokens have as `typ`; many servers write JWT there. An e-mail address finds a user only if the token
    has ``email_verified``, or if `emails_are_verified` says that the server has checked all of them.
    """

    issuer: Url
    jwks_uri: Url
    audience: Annotated[str, Field(max_length=500)] = ""
    tenant: Annotated[str, Field(max_length=63)] = ""
    tenants: Annotated[Mapping[str, str], Field(max_length=10_000)] = Field(default_factory=dict)
    token_types: Annotated[
        tuple[Annotated[str, Field(pattern=r"^[A-Za-z0-9+/.-]{2,60}$")], ...], Field(strict=False)
    ] = (
        "at+jwt",
        "application/at+jwt",
    )
    emails_are_verified: bool = False
    claims: ExternalClaims = Field(default_factory=ExternalClaims)


class IdentitySettings(_Table):
    """The whole file. `contact` is whom people may ask who are refused: everybody who has an account at a provider may
    read it.
    """

    contact: Annotated[str, Field(max_length=200), AfterValidator(_validate_contact)] = ""
    providers: Annotated[tuple[ProviderSettings, ...], Field(max_length=50, strict=False)] = ()
    authorization_server: AuthorizationServerSettings = Field(default_factory=AuthorizationServerSettings)
    external: ExternalSettings | None = None

    @model_validator(mode="before")
    @classmethod
    def _disable_own_server(cls, values: Any) -> Any:
        """Another server switches ours off."""
        table = _get_table(values)
        ours = _get_table(table.get("authorization_server", {})) if table else None
        if table is None or ours is None or table.get("external") is None:
            return values
        return {**table, "authorization_server": {"enabled": False, **ours}}

    @model_validator(mode="after")
    def _check_consistent(self) -> "IdentitySettings":
        ids = [provider.id for provider in self.providers]
        if len(set(ids)) != len(ids):
            raise ValueError("two providers have the same id")
        if self.external is not None and self.authorization_server.enabled:
            raise ValueError("with [external], authorization_server.enabled must be false or absent")
        return self


def load_identity_settings(path: Path) -> IdentitySettings:
    """Read the file; the defaults where there is none.

    Raises:
        Invalid: others can read it, it is no TOML, or a key is wrong; the text names each key and never a value.
    """
    return read_toml(path, IdentitySettings, MAX_FILE_BYTES)


def _get_table(value: object) -> dict[str, Any] | None:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None
