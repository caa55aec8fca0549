"""A provider: a vendor's OAuth server, or its API keys, as data. docs/providers/README.md explains every key.

URLs and some values may hold placeholders such as ``{tenant}``: the OAuth client's settings fill them.
"""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from broker.providers.error_reasons import REASONS
from broker.providers.field_types import (
    NAME_PATTERN,
    Headers,
    Line,
    Parameters,
    Pointer,
    Scope,
    Scopes,
    Table,
    Url,
    Word,
)
from core.http.credential_headers import CredentialScheme, QuotaRule, SchemeKind, is_reserved

ClientAuth = Literal["basic", "basic_raw", "post", "private_key_jwt", "none"]
"""How our client proves itself: Basic as RFC 6749 §2.3.1 has it, Basic without its encoding, in the body, by a signed
assertion (RFC 7523), or not."""
BodyForm = Literal["form", "json"]
RefreshProfile = Literal["non_rotating", "grace", "strict"]
ProviderId = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,39}$")]
Days = Annotated[float, Field(gt=0, le=3650)]
ErrorClassName = Literal["permanent", "service", "throttled", "uncertain"]
DAY = 86_400.0


def _check_reason(word: str) -> str:
    if word not in REASONS:
        raise ValueError(f"give one of {', '.join(sorted(REASONS))}")
    return word


def _check_key_header(name: str) -> str:
    if is_reserved(name) or name.lower() in ("accept", "content-type", "user-agent"):
        raise ValueError("give Authorization or a header that HTTP clients do not set, such as X-Api-Key")
    return name


Reason = Annotated[str, AfterValidator(_check_reason)]
HeaderName = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9-]{0,63}$")]


class ProviderSetting(Table):
    """Something that the OAuth client's administrator fills in. `default` None makes it required."""

    title: Line
    kind: Literal["word", "origin", "url"] = "word"
    """A word of letters, digits, dots, hyphens and underscores; a scheme, host and perhaps path; a whole URL."""
    default: Annotated[str, Field(max_length=500)] | None = None


class RefreshRules(Table):
    """How the provider's refresh tokens live, and so how an interrupted refresh is mended.

    `profile`: ``non_rotating`` (an old refresh token stays good), ``grace`` (a spent one gets its answer again for
    `grace_seconds`), ``strict`` (a spent one is dead, and showing it may kill the grant).
    """

    profile: RefreshProfile = "strict"
    grace_seconds: Annotated[float, Field(ge=0, le=3600)] = 0.0
    reuse_kills_siblings: bool = False
    """A spent token that is shown again costs the person's other grants as well: it never is."""
    margin_seconds: Annotated[float, Field(ge=30, le=86_400)] = 300.0
    """Refreshed at the latest so long before the access token's end."""
    late: bool = False
    """A refresh kills the old access token at once: refresh at the margin and not before, and drop it everywhere."""
    idle_days: Days | None = None
    """The grant dies when it was not refreshed for so long."""
    life_days: Days | None = None
    """The grant dies so long after the person's consent, whatever is done."""
    access_seconds: Annotated[float, Field(ge=60, le=366 * DAY)] | None = None
    """An access token's life where the answer does not tell it."""

    @model_validator(mode="after")
    def _check_profile(self) -> "RefreshRules":
        if (self.profile == "grace") != (self.grace_seconds > 0):
            raise ValueError("grace_seconds is required for the profile grace and not allowed for any other")
        return self

    @property
    def idle_seconds(self) -> float | None:
        """`idle_days` in seconds."""
        return None if self.idle_days is None else self.idle_days * DAY

    @property
    def life_seconds(self) -> float | None:
        """`life_days` in seconds."""
        return None if self.life_days is None else self.life_days * DAY


class ErrorRule(Table):
    """Rule for error responses of this vendor that deviate from RFC 6749.

    All given fields must match: `error` is the field ``error``, `code` one of ``error_codes``, `contains` a part of the
    description, ignoring case. The first matching rule applies.
    """

    error: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,60}$")] | None = None
    code: Annotated[int, Field(ge=0, le=10**9)] | None = None
    contains: Annotated[str, Field(min_length=4, max_length=100)] | None = None
    cls: Annotated[ErrorClassName, Field(alias="class")]
    reason: Reason

    @model_validator(mode="after")
    def _check_has_condition(self) -> "ErrorRule":
        if self.error is None and self.code is None and self.contains is None:
            raise ValueError("give at least one of error, code and contains")
        return self


class RevocationEndpoint(Table):
    """How a grant is ended (RFC 7009 by default). The URL may hold ``{client_id}``."""

    url: Url
    method: Literal["POST", "DELETE"] = "POST"
    body: BodyForm = "form"
    auth: ClientAuth | Literal["nothing"] | None = None
    """None: as at the token endpoint; nothing: not even the client id is sent."""
    sends: Literal["refresh", "access"] = "refresh"
    """Which token."""
    field: Word = "token"
    hint: bool = False
    """Send token_type_hint."""
    gone: Annotated[tuple[Annotated[int, Field(ge=400, le=499)], ...], Field(max_length=5, strict=False)] = ()
    """Statuses that say that there is no such grant any more."""


class OAuthServer(Table):
    """The OAuth server. `issuer` is what its authorization answers name (RFC 9207), where they name any."""

    authorize_url: Url
    install_url: Url | None = None
    """Page on which a person installs the vendor's app and authorizes it in one step: it takes ``state`` and comes back
    like the authorization, without PKCE. Not offered where it is empty."""
    token_url: Url
    issuer: Annotated[str, Field(max_length=1000)] = ""
    issuer_required: bool = False
    """An authorization answer without ``iss`` is refused."""
    client_documents: bool = False
    """It takes the URL of a document about a client as its id (CIMD): such a client proves itself by PKCE alone."""
    registration_url: Url | None = None
    """Dynamic client registration endpoint (RFC 7591)."""
    pkce: Literal["S256", "none"] = "S256"
    client_auth: ClientAuth = "post"
    body: BodyForm = "form"
    token_headers: Headers = Field(default_factory=dict)
    authorize_params: Parameters = Field(default_factory=dict)
    code_params: Parameters = Field(default_factory=dict)
    refresh_params: Parameters = Field(default_factory=dict)
    base_scopes: Scopes = ()
    """Asked for with every connection."""
    fixed_scopes: bool = False
    """The scopes are set at the vendor's app: none is asked for."""
    scope_separator: Literal[" ", ","] = " "
    granted_scope_separator: Literal[" ", ","] = " "
    unreported_scopes: Scopes = ()
    """Those that an answer never names even where they were granted."""
    scope_prefix: Annotated[str, Field(max_length=200)] = ""
    """Prefix of scope names in responses that requests may leave out."""
    scope_aliases: Annotated[dict[Scope, Scope], Field(max_length=50)] = Field(default_factory=dict)
    """Names in answers → names in requests."""
    scope_implies: Annotated[dict[Scope, Scopes], Field(max_length=50)] = Field(default_factory=dict)
    error_at: Annotated[tuple[Pointer, ...], Field(min_length=1, max_length=5, strict=False)] = ("/error",)
    """Pointers to the error code of a response."""
    description_at: Annotated[tuple[Pointer, ...], Field(min_length=1, max_length=5, strict=False)] = (
        "/error_description",
    )
    verdicts: Annotated[tuple[ErrorRule, ...], Field(max_length=40, strict=False)] = ()
    refresh: RefreshRules = Field(default_factory=RefreshRules)
    revoke: RevocationEndpoint | None = None

    @model_validator(mode="after")
    def _check_client_proof(self) -> "OAuthServer":
        if self.client_documents and self.pkce == "none":
            raise ValueError("client_documents requires pkce = S256, because such a client has no secret")
        if self.client_auth == "private_key_jwt" and (self.registration_url or self.client_documents):
            raise ValueError(
                "client_auth private_key_jwt is for clients that an administrator registers with a certificate"
            )
        return self


class AccountPointers(Table):
    """JSON pointers to an account's name and details. Of several, the first that points to a text is used."""

    name: Annotated[tuple[Pointer, ...], Field(max_length=5, strict=False)] = ()
    details: Annotated[dict[Word, Pointer], Field(max_length=10)] = Field(default_factory=dict)


class AccountLookup(AccountPointers):
    """How to learn whose account was connected: from the token answer, its ID token, or a harmless request. `id` stays
    the same when the account's name changes."""

    id: Pointer
    source: Literal["token", "id_token", "url"]
    url: Url | None = None
    headers: Headers = Field(default_factory=dict)

    @model_validator(mode="after")
    def _check_url(self) -> "AccountLookup":
        if (self.source == "url") != (self.url is not None):
            raise ValueError("url is required for the source url and not allowed for any other")
        return self


class SitesEndpoint(Table):
    """A request whose answer is a list of the sites (or organisations) that the grant covers; the person picks one."""

    url: Url
    headers: Headers = Field(default_factory=dict)
    id: Pointer
    name: Pointer
    site_url: Pointer | None = None
    scopes: Pointer | None = None


class ReachEndpoint(Table):
    """A request whose answer counts what the grant reaches. With nothing, tools would find nothing and not know why;
    `help_url` is where the person changes that."""

    url: Url
    headers: Headers = Field(default_factory=dict)
    count: Pointer
    help_url: Url


class KeyQuota(Table):
    """How the vendor tells that the requests of a key are used up, where it does not say 429 (RFC 6585 §4)."""

    status: Annotated[int, Field(ge=400, le=499)]
    resets_in: HeaderName
    """Header with the seconds until there are new ones."""
    remaining: HeaderName | None = None
    """Header with the requests that are left: the status is a refusal of another kind while there are any."""

    @model_validator(mode="after")
    def _check_status(self) -> "KeyQuota":
        if self.status == 401:
            raise ValueError("401 says that a key is not accepted; give the status of a quota, such as 402")
        return self


class ApiKeyAuth(AccountPointers):
    """A long-lived key or token that a person copies, how it is sent, and the harmless request that checks it."""

    scheme: SchemeKind = "bearer"
    """Sent as ``Bearer <key>``; as the user name of Basic, with `password`; as the password of Basic, with `user`; as
    Basic with a user name that the person gives beside it (``basic_pair``); or in a header of its own."""
    password: Annotated[str, Field(max_length=100, pattern=r"^[!-~]*$")] = ""
    user: Annotated[str, Field(max_length=100, pattern=r"^[!-9;-~]*$")] = ""
    user_kind: Literal["name", "email"] | None = None
    """Second part of the pair beside the key: a user name or an e-mail address."""
    header: Annotated[HeaderName, AfterValidator(_check_key_header)] = ""
    word: Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9-]{0,39}$")] = ""
    """Word before the key in `header`, such as ``Token``."""
    prefixes: Annotated[tuple[Line, ...], Field(max_length=10, strict=False)] = ()
    """How such a key begins; another is refused before it is sent anywhere."""
    check_url: Url | None = None
    """Without one, the module's own harmless request at its service's address checks a key."""
    check_headers: Headers = Field(default_factory=dict)
    id: Pointer | None = None
    """Pointer to the account's id in the response."""
    help_url: Url | None = None
    quota: KeyQuota | None = None

    @property
    def credential_scheme(self) -> CredentialScheme:
        """How such a key is sent, and how its quota is told."""
        quota = self.quota and QuotaRule(
            self.quota.status, self.quota.resets_in.lower(), (self.quota.remaining or "").lower()
        )
        fixed = self.password or self.user
        return CredentialScheme(self.scheme, fixed=fixed, name=self.header, word=self.word, quota=quota)

    @model_validator(mode="after")
    def _check_scheme(self) -> "ApiKeyAuth":
        if (self.scheme == "header") != bool(self.header):
            raise ValueError("header is required for the scheme header and not allowed for any other")
        if self.word and self.scheme != "header":
            raise ValueError("word is allowed only for the scheme header")
        if self.password and self.scheme != "basic_user":
            raise ValueError("password is allowed only for the scheme basic_user")
        if self.user and self.scheme != "basic_password":
            raise ValueError("user is allowed only for the scheme basic_password")
        if (self.scheme == "basic_pair") != (self.user_kind is not None):
            raise ValueError("user_kind is required for the scheme basic_pair and not allowed for any other")
        if (self.check_url is None) != (self.id is None):
            raise ValueError("check_url and id must be given together: the request and the pointer to the account id")
        return self


class ModuleScopes(Table):
    """The scopes that a module's tools need, by what they do."""

    reading: Scopes = ()
    writing: Scopes = ()


class Provider(Table):
    """One provider. It has `oauth`, `key`, or both: two ways to connect the same accounts."""

    id: ProviderId
    title: Line
    console_url: Url | None = None
    """URL where an administrator registers the OAuth app."""
    docs_url: Url | None = None
    """The vendor's page on how to."""
    manage_url: Url | None = None
    """URL where a person revokes the grant by hand."""
    settings: Annotated[dict[Word, ProviderSetting], Field(max_length=10)] = Field(default_factory=dict)
    api: Annotated[tuple[Url, ...], Field(max_length=20, strict=False)] = ()
    """Origins that tokens and keys may be sent to; the path of each is ignored. Without any, the base URL that the
    service had when they were stored."""
    oauth: OAuthServer | None = None
    account: AccountLookup | None = None
    sites: SitesEndpoint | None = None
    reach: ReachEndpoint | None = None
    key: ApiKeyAuth | None = None
    modules: Annotated[dict[Annotated[str, Field(pattern=NAME_PATTERN)], ModuleScopes], Field(max_length=50)] = Field(
        default_factory=dict
    )

    def as_document(self) -> dict[str, Any]:
        """The document that it was read from: what was left out there is left out here."""
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True, exclude={"id"})

    @model_validator(mode="after")
    def _check_complete(self) -> "Provider":
        if self.oauth is None and self.key is None:
            raise ValueError("give oauth, key, or both")
        if self.oauth is None and any(section is not None for section in (self.account, self.sites, self.reach)):
            raise ValueError("account, sites and reach require oauth")
        return self
