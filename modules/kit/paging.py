"""Lists, page by page, in the ways in which vendors page them.

A module states the way as data, once, and its tools use it for every list::

    PAGING = BodyCursor(size="maxResults", parameter="pageToken", next="nextPageToken")

    class Calendars(ListPage):
        calendars: list[Calendar]

    address = "/users/me/calendarList"
    asked = parse_cursor(cursor, PAGING, address, per_page)
    answer = await context.vendor.request("GET", address, query=asked.parameters)
    page = await read_page(answer, asked, Calendar, "items")
    return Calendars(calendars=page.rows, **page.fields)

A cursor is ours: it holds the size of the page and what the vendor needs to go on, and works only for the list whose
name it was made for; the address is a good name. A vendor's URL is never followed: only parameters that the way names
are taken out of it. A next page that cannot be asked for sets `incomplete` in `page.fields`; it is never taken for the
end.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, Protocol, TypeVar, cast
from urllib.parse import unquote, urlsplit

from pydantic import BaseModel

from modules.kit.cursors import build_unknown_cursor_error, decode_cursor, encode_cursor
from modules.kit.results import read_rows
from modules.kit.vendor import VendorAnswer

MAX_ROWS = 1_000
"""Of one page; what a vendor sends beyond is left out, and told."""
MAX_PAGE_SIZE = 10_000
MAX_NUMBER = 10**9
MAX_TOKEN_LENGTH = 2_000
_TOKEN = re.compile(rf"[!-~]{{1,{MAX_TOKEN_LENGTH}}}", re.ASCII)
_NUMBER = re.compile(r"(?!0)[0-9]{1,9}", re.ASCII)
_LINK = re.compile(r"<([^<>]*+)>([^<]*+)")
_RELATION = re.compile(r'\brel\s*+=\s*+(?:"([^"]*+)"|([^\s;,"]++))', re.IGNORECASE)

Row = TypeVar("Row", bound=BaseModel)
Where = str | tuple[str, ...]
"""Place of a value in a vendor's JSON: a field, or the fields on the way to it; "" for none."""
PageParameters = dict[str, str | int]


class PagingWay(Protocol):
    """How a vendor pages a list. `numbers` and `tokens` name the parameters that lead to a page, the numbers above 0;
    `size` names that of the page's length, "" where there is none; `total` is where the answer holds the number of all
    rows."""

    @property
    def numbers(self) -> tuple[str, ...]: ...

    @property
    def tokens(self) -> tuple[str, ...]: ...

    @property
    def size(self) -> str: ...

    @property
    def total(self) -> Where: ...

    def find_next(
        self, asked: "RequestedPage", headers: Mapping[str, str], document: Any, rows: int
    ) -> PageParameters | None:
        """Find the parameters of the page behind an answer with `rows` rows: empty behind the last, None where there is
        more, or may be, and no way to it."""
        ...


@dataclass(frozen=True, slots=True)
class RequestedPage:
    """A page of the list `name`: its length, and the parameters that lead to it (none for the first)."""

    way: PagingWay
    name: str
    size: int
    place: PageParameters

    @property
    def parameters(self) -> PageParameters:
        """The parameters to send, in the query or the body."""
        return {self.way.size: self.size, **self.place} if self.way.size else dict(self.place)


class NextPage(NamedTuple):
    """What follows a page: our cursor, "" where there is none; whether there is more that no cursor leads to; the
    number of all rows where the vendor gives it."""

    cursor: str
    incomplete: bool
    total: int | None


class ReadPage(NamedTuple, Generic[Row]):
    """A page that was read. `fields` are those of :class:`modules.kit.results.CountedPage`; `answer` and its JSON, the
    `document`, are for what else is in it."""

    rows: list[Row]
    fields: dict[str, Any]
    answer: VendorAnswer
    document: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkHeader:
    """The next page stands in the Link header (RFC 8288), by number or by a key, as at GitHub. Without one, the page is
    the last."""

    size: str = "per_page"
    numbers: tuple[str, ...] = ("page",)
    tokens: tuple[str, ...] = ("after",)
    total: Where = ""

    def find_next(
        self, asked: RequestedPage, headers: Mapping[str, str], document: Any, rows: int
    ) -> PageParameters | None:
        for address, parameters in _LINK.findall(headers.get("link", "")):
            relation = _RELATION.search(parameters)
            if relation and "next" in (relation[1] or relation[2] or "").lower().split():
                return _pick_parameters(address, self)
        return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyCursor:
    """The answer holds the vendor's own cursor at `next`, to be sent as `parameter`: Notion, Google, Jira's search.

    `more` is a flag that every answer has, `last` one that it may have. Without them, no cursor means the last page.
    `kept` are parameters that the following pages must have as the first had them, where the caller does not give them
    each time: put them into `place` of the first page that is asked for.
    """

    size: str
    parameter: str
    next: Where
    more: Where = ""
    last: Where = ""
    total: Where = ""
    kept: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()

    @property
    def tokens(self) -> tuple[str, ...]:
        return (self.parameter, *self.kept)

    def find_next(
        self, asked: RequestedPage, headers: Mapping[str, str], document: Any, rows: int
    ) -> PageParameters | None:
        more, last = _find_value(document, self.more), _find_value(document, self.last)
        if more is False or last is True:
            return {}
        token = _find_value(document, self.next)
        if token is None or token == "":
            return None if self.more or last is False else {}
        kept = {name: asked.place[name] for name in self.kept if name in asked.place}
        return {self.parameter: token, **kept} if _is_token(token) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Offset:
    """The vendor skips as many rows as `parameter` says: Jira (`total`, `last`), Supabase (neither).

    Where neither is named, a page with fewer rows than asked for is the last: ask for no more than the vendor gives at
    once. `filters`: it takes rows out of a page after counting it (Jira's assignable users), so that a short page, or
    an empty one, is no sign of the end. `reach`: from that row on it gives none, whatever there is (Jira's users).
    """

    size: str
    parameter: str
    total: Where = ""
    last: Where = ""
    filters: bool = False
    reach: int = MAX_NUMBER
    tokens: tuple[str, ...] = ()

    @property
    def numbers(self) -> tuple[str, ...]:
        return (self.parameter,)

    def find_next(
        self, asked: RequestedPage, headers: Mapping[str, str], document: Any, rows: int
    ) -> PageParameters | None:
        start = int(asked.place.get(self.parameter, 0))
        following = start + (asked.size if self.filters else rows)
        last, total = _find_value(document, self.last), _find_number(document, self.total)
        if last is True or (last is None and total is not None and following >= total):
            return {}
        if rows == 0:
            return {} if last is None and total is None and not self.filters else None
        is_short = rows < asked.size and not self.filters
        if is_short and not self.last and not self.total:
            return {}
        return {self.parameter: following} if following < self.reach else None


@dataclass(frozen=True, slots=True, kw_only=True)
class PageNumber:
    """The vendor counts pages, from `first` on: Raindrop.io (0), many others (1). `total` is where it tells how many
    rows there are; without one, a page with fewer rows than asked for is the last. Ask for no more than the vendor
    gives at once: it would count other pages."""

    size: str
    parameter: str
    first: int = 1
    total: Where = ""
    tokens: tuple[str, ...] = ()

    @property
    def numbers(self) -> tuple[str, ...]:
        return (self.parameter,)

    def find_next(
        self, asked: RequestedPage, headers: Mapping[str, str], document: Any, rows: int
    ) -> PageParameters | None:
        page = int(asked.place.get(self.parameter, self.first))
        total = _find_number(document, self.total)
        pages_seen = page - self.first + 1
        if pages_seen * asked.size >= total if total is not None else rows < asked.size:
            return {}
        return {self.parameter: page + 1} if rows and page + 1 < MAX_NUMBER else None


@dataclass(frozen=True, slots=True, kw_only=True)
class NextLink:
    """The answer holds the address of the next page at `next`, whole or in part: Confluence (``_links.next``),
    Microsoft (``@odata.nextLink``). Without one, the page is the last. The other parameters are sent again as they
    were."""

    size: str
    next: Where
    numbers: tuple[str, ...] = ()
    tokens: tuple[str, ...] = ()
    total: Where = ""

    def find_next(
        self, asked: RequestedPage, headers: Mapping[str, str], document: Any, rows: int
    ) -> PageParameters | None:
        link = _find_value(document, self.next)
        if link is None or link == "":
            return {}
        return _pick_parameters(link, self) if isinstance(link, str) else None


def parse_cursor(cursor: str | None, way: PagingWay, name: str, per_page: int) -> RequestedPage:
    """Parse one of our cursors for the list `name`; None is the first page. A cursor keeps the size that its first page
    had: with another one, the next page would start elsewhere.

    Raises:
        ToolError: the cursor was not made for this list.
    """
    if cursor is None:
        return RequestedPage(way, name, per_page, {})
    decoded = decode_cursor(cursor)
    values = cast("list[Any]", decoded) if isinstance(decoded, list) else []
    if len(values) != 3 or values[0] != _mark_list(name) or not _is_number(values[1], MAX_PAGE_SIZE):
        raise build_unknown_cursor_error()
    return RequestedPage(way, name, values[1], _check_place(values[2], way))


def find_next_page(asked: RequestedPage, answer: VendorAnswer, document: Any, rows: int) -> NextPage:
    """Find what follows the page in an answer, whose JSON is `document`, with `rows` rows in it."""
    place = asked.way.find_next(asked, answer.headers, document, rows)
    total = _find_number(document, asked.way.total)
    if place is None or (place and place == asked.place):  # a next page that is this one would never end
        return NextPage("", incomplete=True, total=total)
    return NextPage(format_cursor(asked, place) if place else "", incomplete=False, total=total)


async def read_page(
    answer: VendorAnswer, asked: RequestedPage, shape: type[Row], items: Where = "", *, drops_empty: bool = False
) -> ReadPage[Row]:
    """Read a page whose rows stand at `items`, or are the whole answer. `drops_empty`: the vendor may leave an empty
    list out of an answer with other fields.

    Raises:
        VendorProblem: there is no list.
    """
    document = answer.json()
    value = _find_value(document, items) if items else document
    found = answer.read_part(list[Any], [] if drops_empty and value is None and document else value)
    read = await read_rows(answer, shape, found[:MAX_ROWS])
    following = find_next_page(asked, answer, document, len(found))
    fields = {
        "nextCursor": following.cursor,
        "incomplete": following.incomplete or len(found) > MAX_ROWS,
        "unreadable": read.unreadable,
        "total": following.total,
    }
    return ReadPage(read.rows, fields, answer, document)


def format_cursor(asked: RequestedPage, place: PageParameters) -> str:
    """Format our cursor for the page of a list to which the parameters in `place` lead."""
    return encode_cursor([_mark_list(asked.name), asked.size, place])


def _mark_list(name: str) -> str:
    return hashlib.blake2b(name.encode(), digest_size=6).hexdigest()


def _check_place(place: Any, way: PagingWay) -> PageParameters:
    pairs = cast("dict[str, Any]", place) if isinstance(place, dict) else {}
    is_valid = bool(pairs) and all(
        _is_number(value, MAX_NUMBER) if name in way.numbers else name in way.tokens and _is_token(value)
        for name, value in pairs.items()
    )
    if not is_valid:
        raise build_unknown_cursor_error()
    return pairs


def _is_number(value: Any, limit: int) -> bool:
    return type(value) is int and 0 < value < limit


def _is_token(value: Any) -> bool:
    return isinstance(value, str) and _TOKEN.fullmatch(value) is not None


def _pick_parameters(address: str, way: PagingWay) -> PageParameters | None:
    """Pick the parameters that the way names out of an address; None where one is unusable, or there is none."""
    try:
        query = urlsplit(address).query
    except ValueError:
        return None
    # A "+" is taken for itself: no token has a space, and base64 is not always encoded.
    given = {unquote(name): unquote(value) for name, _, value in (pair.partition("=") for pair in query.split("&"))}
    numbers = {name: given[name] for name in way.numbers if name in given}
    tokens = {name: given[name] for name in way.tokens if name in given}
    if not all(map(_NUMBER.fullmatch, numbers.values())) or not all(map(_is_token, tokens.values())):
        return None
    return {**{name: int(value) for name, value in numbers.items()}, **tokens} or None


def _find_value(document: Any, where: Where) -> Any:
    """Find a value in JSON; None where it is missing."""
    if not where:
        return None
    for name in (where,) if isinstance(where, str) else where:
        if not isinstance(document, Mapping):
            return None
        document = cast("Mapping[str, Any]", document).get(name)
    return document


def _find_number(document: Any, where: Where) -> int | None:
    value = _find_value(document, where)
    return value if type(value) is int and value >= 0 else None
