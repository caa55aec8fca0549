"""HTTP client of one vendor, already authorised for the caller, as modules use it."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any, Literal, NamedTuple, Protocol, TypeVar
from urllib.parse import quote

import orjson
from pydantic import TypeAdapter, ValidationError

from modules.kit.bodies import MultipartBody, RawBody
from modules.kit.errors import OUTCOME_UNKNOWN, ToolError
from modules.kit.json_size import exceeds_limits
from modules.kit.misfits import note_misfit
from modules.kit.settings import VendorSettings

_PLACEHOLDER = re.compile(r"\{([a-z][a-z0-9_]{0,39})\}")
_SEGMENT = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._~-]{1,200}", re.ASCII)
_RESERVED = re.compile(r"[^A-Za-z0-9._~-]")
_SHORT_TEXT = 1000
"""Characters of a text that is encoded one by one; with many of them quote() is faster."""
_HOST_NAME = re.compile(r"[a-z][a-z0-9_]{0,30}", re.ASCII)

MAX_DOWNLOAD_BYTES = 10 * 2**20
"""Bytes that one download gives; a longer file is read on with its `next_offset`."""
MAX_VALUES = 200_000
MAX_FIELDS = 100_000
"""Of a vendor's JSON: 20 ms of decoding."""

VendorProblemKind = Literal[
    "unauthorized",
    "forbidden",
    "not_found",
    "conflict",
    "invalid",
    "rate_limited",
    "unavailable",
    "too_large",
    "refused",
]


Shape = TypeVar("Shape")
TRY_LATER = "try again later"


class VendorAnswer(NamedTuple):
    """Answer of a vendor. Header names are in lower case; `body` is decompressed. `write`: the request may have changed
    something, so no error about the answer may suggest sending it again."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    write: bool

    def json(self) -> Any:
        """Return the body as JSON.

        Raises:
            VendorProblem: it is none, or holds more than any tool could read in a reasonable time.
        """
        if exceeds_limits([self.body], MAX_VALUES, MAX_FIELDS):
            text = "the vendor's answer holds too many values"
            raise VendorProblem("too_large", text, retry="ask for less", unknown=self.write)
        try:
            return orjson.loads(self.body)
        except orjson.JSONDecodeError:
            raise self.build_unreadable_problem("the vendor's answer cannot be read") from None

    def read(self, kind: type[Shape]) -> Shape:
        """Read the body as `kind`: a pydantic model, or any type that pydantic can validate.

        Raises:
            VendorProblem: it is no JSON, or something else.
        """
        return self.read_part(kind, self.json())

    def read_part(self, kind: type[Shape], value: Any) -> Shape:
        """Something that was found in the body, as `kind`.

        Raises:
            VendorProblem: it is something else.
        """
        try:
            return _get_adapter(kind).validate_python(value)
        except ValidationError as error:
            note_misfit(kind, error)
            raise self.build_unreadable_problem() from None

    def check_done(self) -> None:
        """Check that the answer to a request of whose answer nothing is read can be the vendor's: it has no body, or
        JSON.

        Raises:
            VendorProblem: it has another body, such as a proxy's page, and so says nothing about the request.
        """
        if self.body.strip():
            self.json()

    def build_unreadable_problem(
        self, text: str = "the vendor's answer does not have the documented form"
    ) -> "VendorProblem":
        """Build the problem to raise where the answer is not what it should be."""
        return VendorProblem("unavailable", text, retry=TRY_LATER, unknown=self.write)


@cache
def _get_adapter(kind: type[Shape]) -> TypeAdapter[Shape]:
    return TypeAdapter(kind)


class VendorProblem(ToolError):
    """A request that the vendor refused, or that did not reach it. The text is ours; a module may raise a better one.

    `retry_after` is in seconds; `answer` is the vendor's, for the module's eyes only: never part of a text. `unknown`:
    a write may have been made although no answer says so; the text then says that in the place of `retry`. `refused`:
    the answer to a write has a status below 400 and says in its body that it was not made, as GraphQL does.
    """

    def __init__(
        self,
        kind: VendorProblemKind,
        text: str,
        *,
        retry: str = "",
        retry_after: float | None = None,
        answer: VendorAnswer | None = None,
        unknown: bool = False,
        refused: bool = False,
    ) -> None:
        super().__init__(f"{text}; {OUTCOME_UNKNOWN}" if unknown else text, retry="" if unknown else retry)
        self.kind: VendorProblemKind = kind
        self.retry_after = retry_after
        self.answer = answer
        self.unknown = unknown
        self.refused = refused


class Download(NamedTuple):
    """Part of a file. `media_type` is as the server sent it, with its parameters. `size` is that of the whole file,
    where the server tells it or the file was read to its end; `next_offset` is where to read on, None at the end."""

    content: bytes
    media_type: str
    size: int | None
    next_offset: int | None


@dataclass(frozen=True, slots=True)
class RateLimit:
    """The vendor takes no request for `seconds`: none at all, or, unless `everything`, none of those that are counted
    with the one that it refused (as far as the first two segments of the path tell)."""

    seconds: float
    everything: bool = True


class Vendor(Protocol):
    """Requests to one vendor's hosts and base paths with one credential. There is no way to the credential itself."""

    async def get_connection(self) -> Mapping[str, str]:
        """Return the details of the connected account beside its credential, none of them secret: ``site`` (its id),
        ``site_name`` and ``site_url`` where the user chose a site, and those that the provider's data names (`details`
        in docs/providers/README.md). Empty for an API key.

        Raises:
            ToolError: there is no account that works; the text says what to do.
        """
        ...

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        json: Any = None,
        headers: Mapping[str, str] | None = None,
        repeatable: bool | None = None,
        body: RawBody | MultipartBody | None = None,
        host: str = "",
    ) -> VendorAnswer:
        """Send one request and return an answer below 400.

        `path` is below the base URL, or below that of the further `host` that :attr:`VendorApi.hosts` names, and
        already encoded (see :func:`build_path`). None values in `query` are left out, and booleans are written
        ``true`` and ``false``. `body` takes the place of `json`. `repeatable` says that sending it twice does no harm:
        by default that of GET and HEAD. Every other request counts as a write: it is sent once, and where its outcome
        is not known the problem says so. Give ``repeatable=True`` for a POST that only reads, such as a search.

        Raises:
            VendorProblem: for every other status, and for what went wrong on the way.
            ToolError: `body` is too large, or has a name or media type that cannot be sent.
        """
        ...

    async def download(
        self,
        path: str,
        *,
        limit: int,
        offset: int = 0,
        query: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        host: str = "",
    ) -> Download:
        """Read at most `limit` bytes (and at most :data:`MAX_DOWNLOAD_BYTES`) of a file, from `offset` on.

        Where the vendor answers with a redirect to a file store, that is followed without the credential and without
        `headers`; its address never becomes part of an answer or an error.

        Raises:
            VendorProblem: as for a request; or the file cannot be read from there.
        """
        ...


@dataclass(frozen=True, slots=True)
class AccountRequest:
    """A harmless GET request that tells whose a credential is. `path` is below the base URL and already encoded; `name`
    is the JSON pointer (RFC 6901) of the account's name in the answer, such as ``/login``. `rejection_statuses` are
    those by which the vendor says of this request that it does not take the credential."""

    path: str
    name: str
    rejection_statuses: tuple[int, ...] = (401,)


@dataclass(frozen=True, slots=True)
class VendorApi:
    """Description of a vendor's API as data. The broker makes the `account` request before it stores a pasted key, and
    for a credential that the vendor has refused: it runs no code of a module. The provider's data states how a
    credential is sent (docs/providers/README.md), not the module.

    `rate_limit` reads a limit out of an answer of status 400 to 499 where Retry-After and the x-ratelimit headers do
    not say it, such as from a code in its body; None for any other refusal. The session remembers it for the
    credential, waits for a short one and tells the caller of a long one.

    `lacks_scope` tells whether an answer of status 401 says that a working credential has not the scope for this
    request. Such an answer ends no credential: every other 401 is reported as the end of one.

    `rejects_credential` tells whether an answer of another status says that the vendor does not take the credential; it
    then counts as a 401. `account` needs the status in its `rejection_statuses`.

    The path of `base_url` may hold placeholders such as ``{site}``, which what is known of the connection fills
    (:meth:`Vendor.get_connection`): ``https://api.atlassian.com/ex/jira/{site}``.

    `hosts` are further base URLs of the same vendor by name, such as ``uploads``, to which the credential is sent as
    well, if they are of the base URL's domain (docs/decisions/0055). Each needs a setting ``<name>_url`` in `settings`,
    for services with a base URL of their own.
    """

    base_url: str
    account: AccountRequest
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    settings: type[VendorSettings] = VendorSettings
    rate_limit: Callable[[VendorAnswer], RateLimit | None] | None = None
    hosts: Mapping[str, str] = field(default_factory=dict[str, str])
    lacks_scope: Callable[[VendorAnswer], bool] | None = None
    rejects_credential: Callable[[VendorAnswer], bool] | None = None

    def __post_init__(self) -> None:
        for name, url in self.hosts.items():
            is_plain = url.startswith(("https://", "http://")) and "{" not in url
            if not _HOST_NAME.fullmatch(name) or not is_plain or f"{name}_url" not in self.settings.model_fields:
                raise TypeError(f"a further host has a plain name, a plain URL and a setting {name}_url")
        host, _, path = self.base_url.partition("://")[2].partition("/")
        if not set(host).isdisjoint("{}") or not set(_PLACEHOLDER.sub("", path)).isdisjoint("{}"):
            raise TypeError("a base URL may have placeholders such as {site} in its path only")

    @property
    def placeholders(self) -> tuple[str, ...]:
        """The names in the base URL that are to be filled."""
        return _list_placeholders(self.base_url)


@cache
def _list_placeholders(base_url: str) -> tuple[str, ...]:
    return tuple(_PLACEHOLDER.findall(base_url))


def fill_base_url(base_url: str, values: Mapping[str, str]) -> str:
    """Fill the placeholders of a base URL, each value encoded so that it stays one segment.

    Raises:
        VendorProblem: a value is missing or would name another path.
    """

    def encode_value(match: re.Match[str]) -> str:
        value = values.get(match[1], "")
        if not _SEGMENT.fullmatch(value):
            raise VendorProblem("refused", f"the connected account has no {match[1]} that could be part of a URL")
        return value

    return _PLACEHOLDER.sub(encode_value, base_url)


def build_path(template: str, *parts: str | int) -> str:
    """Build a path with each ``{}`` of `template` replaced by a part, encoded so that it stays one segment (RFC 3986
    §3.3).

    Raises:
        VendorProblem: a part is empty or a dot segment, which would name another path.
    """
    encoded = [percent_encode(str(part)) for part in parts]
    if any(part in ("", ".", "..") for part in encoded):
        raise VendorProblem("invalid", "a name in the address is empty or made of dots")
    return template.format(*encoded)


def percent_encode(text: str) -> str:
    """Percent-encode everything but unreserved characters (RFC 3986 §2.3).

    Raises:
        UnicodeEncodeError: the text has an unpaired surrogate.
    """
    if len(text) > _SHORT_TEXT:
        return quote(text, safe="")
    return _RESERVED.sub(lambda found: _encode_character(found[0]), text)


@lru_cache(256)
def _encode_character(character: str) -> str:
    """Percent-encode a character; quote() of an id of 150 characters takes 10 µs, and of a query's list 10 more."""
    return quote(character, safe="")
