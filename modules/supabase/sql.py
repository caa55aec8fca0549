"""SQL of the caller's own, in two tools: one that can only read, and one that can change anything."""

from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple

import orjson
from pydantic import Field

from modules.kit import Context, SensitiveParameter, VendorAnswer, tool
from modules.kit.paging import RequestedPage, parse_cursor
from modules.kit.parameters import ACTION_HINTS, READ_HINTS, CursorText, OptionalParameter, drop_bounds, limit_length
from modules.kit.results import PAGE_CHARACTERS, ResultPage
from modules.kit.text_cleaning import clean_text
from modules.kit.whole_lists import WHOLE, check_start, format_cursor_from, get_start
from modules.supabase import rest_client
from modules.supabase.parameters import READ_DATABASE, WRITE_DATABASE, ProjectRef, SqlText

Row = dict[str, Any]

MAX_CELL_CHARACTERS = 20_000
_QUERY_DONE = 201

_Parameters = Annotated[
    OptionalParameter[Annotated[list[Any], limit_length(maximum=100)]],
    SensitiveParameter(),
    Field(description="Values of $1, $2"),
]
_MaxRows = Annotated[int, Field(ge=1, le=1000, description="At most 1000", json_schema_extra=drop_bounds)]


class CutCell(NamedTuple):
    """Where a long value was cut: its row and column in this page, and its length in characters."""

    row: int
    column: str
    length: int


class QueryRows(ResultPage):
    """Rows in the order of `columns`. Values in `cut` are longer than what is shown: read on with substr().
    `hidden_characters`: some values hold characters that are not visible."""

    columns: list[str]
    rows: list[list[Any]]
    total: int
    cut: Annotated[list[CutCell], Field(exclude_if=lambda cells: not cells)] = []  # noqa: RUF012
    hidden_characters: Annotated[bool, Field(exclude_if=lambda found: not found)] = False


@tool(hints=READ_HINTS, scopes=[READ_DATABASE], keywords="query, select, count rows")
async def execute_sql(
    context: Context,
    ref: ProjectRef,
    query: Annotated[SqlText, Field(description="Names with their schema: public.users")],
    parameters: _Parameters = None,
    max_rows: _MaxRows = 100,
    cursor: CursorText = None,
) -> QueryRows:
    """Run SQL that only reads; it sees all rows, whatever their policies. With a cursor the query runs again."""
    asked = parse_cursor(cursor, WHOLE, f"sql {ref} {query}", max_rows)
    rows = read_rows(await rest_client.send_query(context, ref, query, parameters or ()))
    check_start(asked, len(rows))
    return format_rows(rows, asked)


@tool(hints=ACTION_HINTS, scopes=[WRITE_DATABASE])
async def execute_sql_write(
    context: Context,
    ref: ProjectRef,
    query: Annotated[SqlText, Field(description="Statements; RETURNING shows rows")],
    parameters: _Parameters = None,
    max_rows: _MaxRows = 100,
) -> QueryRows:
    """Run SQL that changes data, as the database's owner. Schema changes belong into migrations."""
    rows = read_rows(await rest_client.send_query(context, ref, query, parameters or (), writes=True))
    # There is no cursor: reading on would run the query again.
    return format_rows(rows, parse_cursor(None, WHOLE, "", max_rows)).model_copy(update={"nextCursor": ""})


def read_rows(answer: VendorAnswer) -> list[Row]:
    """The rows in the answer to a query; statements without any have an empty body, null or an empty list.

    Raises:
        VendorProblem: it is something else, or an empty body that has not the status of Supabase's.
    """
    if not answer.body.strip() and answer.status != _QUERY_DONE:
        raise answer.build_unreadable_problem()
    rows: Any = answer.json() if answer.body.strip() else None
    return answer.read_part(list[Row], [] if rows is None else rows)


def format_rows(rows: Sequence[Row], asked: RequestedPage) -> QueryRows:
    """The rows of the page that is asked for as lists, as many as fit it; each value as it is, but for the end of a
    long one."""
    start = get_start(asked)
    columns = list(rows[0]) if rows else []
    shown: list[list[Any]] = []
    cut: list[CutCell] = []
    left, hidden = PAGE_CHARACTERS, False
    for row in rows[start : start + asked.size]:
        values = [_cut_value(row.get(name), len(shown), name, cut) for name in columns]
        text = orjson.dumps(values, default=str).decode()
        left -= len(text)
        if left < 0 and shown:
            cut[:] = [one for one in cut if one.row < len(shown)]
            break
        hidden = hidden or clean_text(text) != text
        shown.append(values)
    end = start + len(shown)
    return QueryRows(
        columns=columns, rows=shown, total=len(rows), cut=cut, hidden_characters=hidden,
        nextCursor=format_cursor_from(asked, end, len(rows)),
    )  # fmt: skip


def _cut_value(value: Any, row: int, column: str, cut: list[CutCell]) -> Any:
    """A value as it is, or the beginning of its text where that is too long."""
    text = value if isinstance(value, str) else orjson.dumps(value).decode()
    if len(text) <= MAX_CELL_CHARACTERS:
        return value  # pyright: ignore[reportUnknownVariableType]
    cut.append(CutCell(row, column, len(text)))
    return text[:MAX_CELL_CHARACTERS]


TOOLS = (execute_sql, execute_sql_write)
