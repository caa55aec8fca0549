"""What a vendor module works with: a small HTTP client for one vendor, already authorised for the caller."""

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NamedTuple, Protocol
from urllib.parse import quote

import orjson
from pydantic import BaseModel, ConfigDict, Field

from modules.kit.errors import ToolError
from modules.kit.json_size import exceeds

_PLACEHOLDER = re.compile(r"\{([a-z][a-z0-9_]{0,39})\}")
_SEGMENT = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._~-]{1,200}", re.ASCII)
_UNRESERVED = re.compile(r"[A-Za-z0-9._~-]*", re.ASCII)

MAX_VALUES = 200_000
MAX_FIELDS = 100_000
"""Of a vendor's JSON: 20 ms of decoding."""

Problem = Literal[
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


class VendorAnswer(NamedTuple):
    """What the vendor said. Header names are in lower case; `body` is decompressed."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """The body as JSON.

        Raises:
            VendorProblem: it is none, or holds more than any tool could read in a reasonable time.
        """
        if exceeds([self.body], MAX_VALUES, MAX_FIELDS):
            raise VendorProblem("too_large", "the vendor's answer holds too many values; ask for less")
        try:
            return orjson.loads(self.body)
        except orjson.JSONDecodeError:
            raise VendorProblem("unavailable", "the vendor's answer cannot be read; try again later") from None


class VendorProblem(ToolError):
    """A request that the vendor refused, or that did not reach it. The text is ours; a module may raise a better one.

    `retry_after` is in seconds; `answer` is the vendor's, for the module's eyes only: never part of a text.
    """

    def __init__(
        self, kind: Problem, text: str, *, retry_after: float | None = None, answer: VendorAnswer | None = None
    ) -> None:
        super().__init__(text)
        self.kind: Problem = kind
        self.retry_after = retry_after
        self.answer = answer


class Vendor(Protocol):
    """Requests to one vendor's host and base path with one credential. There is no way to the credential itself."""

    async def connection(self) -> Mapping[str, str]:
        """What is known of the connected account beside its credential, none of it secret: ``site`` (its id),
        ``site_name`` and ``site_url`` where the person chose a site, and what the provider's data names (`details` in
        docs/providers/README.md). Nothing of a pasted key.

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
    ) -> VendorAnswer:
        """Send one request and return an answer below 400.

        `path` is below the base URL and already encoded (see :func:`path`). None values in `query` are left out, and
        booleans are written ``true`` and ``false``. `repeatable` says that sending it twice does no harm: by default
        that of GET and HEAD.

        Raises:
            VendorProblem: for every other status, and for what went wrong on the way.
        """
        ...


class VendorSettings(BaseModel):
    """What an administrator may set for a service; a module may add to it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    base_url: Annotated[str | None, Field(max_length=500, description="Base URL, such as that of an own server")] = None
    timeout: Annotated[float, Field(ge=1, le=300, description="Seconds that one request may take")] = 30.0
    concurrency: Annotated[int, Field(ge=1, le=100, description="Requests at once with one credential")] = 8


@dataclass(frozen=True, slots=True)
class VendorApi:
    """How a vendor is reached, as data. `account` is a harmless request that names the account behind a credential.

    The path of `base_url` may hold placeholders such as ``{site}``, which what is known of the connection fills
    (:meth:`Vendor.connection`): ``https://api.atlassian.com/ex/jira/{site}``.
    """

    base_url: str
    account: Callable[[Vendor], Awaitable[str]]
    scheme: str = "Bearer"
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    settings: type[VendorSettings] = VendorSettings

    def __post_init__(self) -> None:
        host, _, rest = self.base_url.partition("://")[2].partition("/")
        if not set(host).isdisjoint("{}") or not set(_PLACEHOLDER.sub("", rest)).isdisjoint("{}"):
            raise TypeError("a base URL may hold placeholders such as {site}, in its path alone")

    @property
    def placeholders(self) -> tuple[str, ...]:
        """The names in the base URL that are to be filled."""
        return tuple(_PLACEHOLDER.findall(self.base_url))


def filled(base_url: str, values: Mapping[str, str]) -> str:
    """A base URL with its placeholders filled, each encoded so that it stays one segment.

    Raises:
        VendorProblem: a value is missing or would name another path.
    """

    def value(found: re.Match[str]) -> str:
        given = values.get(found[1], "")
        if not _SEGMENT.fullmatch(given):
            raise VendorProblem("refused", f"the connected account has no {found[1]} that could be part of an address")
        return given

    return _PLACEHOLDER.sub(value, base_url)


def path(template: str, *parts: str | int) -> str:
    """A path with each ``{}`` of `template` replaced by a part, encoded so that it stays one segment (RFC 3986 §3.3).

    Raises:
        VendorProblem: a part is empty or a dot segment, which would name another path.
    """
    encoded = [_segment(str(part)) for part in parts]
    if any(part in ("", ".", "..") for part in encoded):
        raise VendorProblem("invalid", "a name in the address is empty or made of dots")
    return template.format(*encoded)


def _segment(part: str) -> str:
    return part if _UNRESERVED.fullmatch(part) else quote(part, safe="")  # quote() costs four times the look
