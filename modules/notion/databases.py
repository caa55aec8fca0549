"""Databases, the data sources in them, and their rows."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, model_validator

from modules.kit import Context, ToolError, build_path, tool
from modules.kit.parameters import (
    ADD_HINTS,
    CHANGE_HINTS,
    READ_HINTS,
    CursorText,
    OptionalParameter,
    PerPage,
    ShortText,
    limit_items,
    limit_length,
)
from modules.kit.results import Flag, Identifier, ListPage, OptionalUrl, ResultModel, Word
from modules.kit.text_cleaning import clean_line
from modules.notion import rest_client
from modules.notion.dates import check_filter
from modules.notion.parameters import INSERT_CONTENT, READ_CONTENT, UPDATE_CONTENT, NotionId, PageId
from modules.notion.properties import format_named
from modules.notion.results import Parent, RowOfValues, SavedObject, Title
from modules.notion.rich_text import format_rich_text, parse_rich_text

DatabaseId = Annotated[NotionId, Field(description="Database")]
DataSourceId = Annotated[NotionId, Field(description="Data source, not its database")]
ColumnType = Literal[
    "rich_text", "number", "select", "multi_select", "status", "date", "people", "files", "checkbox", "url", "email",
    "phone_number", "created_time", "created_by", "last_edited_time", "last_edited_by", "unique_id",
]  # fmt: skip


class DataSourceName(ResultModel):
    id: Identifier
    name: Word = ""


class NotionDatabase(ResultModel):
    id: Identifier
    title: Title = ""
    description: Title = ""
    parent: Parent = ""
    url: OptionalUrl = ""
    data_sources: list[DataSourceName]
    in_trash: Flag = False


class DataSource(ResultModel):
    """`properties` are the columns: each with its type, and its options where it has some."""

    id: Identifier
    title: Title = ""
    parent: Parent = ""
    properties: dict[str, str]
    in_trash: Flag = False

    @model_validator(mode="before")
    @classmethod
    def _describe(cls, raw: Any) -> Any:
        if not isinstance(raw, dict):
            return raw
        found = cast("dict[str, Any]", raw)
        columns = cast("dict[str, Any]", found.get("properties") or {})
        title = found.get("title")
        name = clean_line(format_rich_text(cast("Any", title))) if isinstance(title, list) else ""
        own = {str(found.get("id")): name}
        described = {clean_line(name): _describe_column(one, own) for name, one in columns.items()}
        return {**found, "properties": described}


def _describe_column(column: Mapping[str, Any], titles: Mapping[str, str]) -> str:
    """Describe a column; `titles` are those of data sources by id, of which one may be what it relates to."""
    kind = str(column.get("type"))
    content = cast("Mapping[str, Any]", column.get(kind) or {})
    options = ", ".join(clean_line(str(one.get("name"))) for one in content.get("options") or ())
    target = content.get("data_source_id") or content.get("expression") or content.get("format") or ""
    detail = options or format_named(clean_line(str(target)), titles.get(str(target), ""))
    return f"{kind}: {detail}" if detail else kind


class Rows(ListPage):
    rows: list[RowOfValues]


class Sort(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    property: Annotated[ShortText, Field(description="Name, or created_time, last_edited_time")]
    direction: Annotated[Literal["ascending", "descending"], Field(description="Order")] = "ascending"


@tool(hints=READ_HINTS, scopes=[READ_CONTENT])
async def get_database(context: Context, database_id: DatabaseId) -> NotionDatabase:
    """One database with the ids of its data sources, by which its rows are read."""
    return await rest_client.fetch_one(context, NotionDatabase, build_path("/v1/databases/{}", database_id))


@tool(hints=READ_HINTS, scopes=[READ_CONTENT])
async def get_data_source(context: Context, data_source_id: DataSourceId) -> DataSource:
    """The columns of a data source."""
    return await rest_client.fetch_one(context, DataSource, build_path("/v1/data_sources/{}", data_source_id))


@tool(hints=READ_HINTS, scopes=[READ_CONTENT])
async def query_data_source(
    context: Context,
    data_source_id: DataSourceId,
    filter: Annotated[
        OptionalParameter[dict[str, Any]],
        Field(description='Notion\'s, such as {"property": "Done", "checkbox": {"equals": true}}, also in and / or'),
    ] = None,
    sorts: Annotated[
        OptionalParameter[Annotated[list[Sort], limit_length(maximum=10)]], Field(description="Order")
    ] = None,
    per_page: PerPage = 50,
    cursor: CursorText = None,
) -> Rows:
    """Rows of a data source with the values of their properties."""
    check_filter(filter)
    body: dict[str, Any] = {"filter": filter, "sorts": [_make_sort(one) for one in sorts] if sorts else None}
    address = build_path("/v1/data_sources/{}/query", data_source_id)
    page = await rest_client.fetch_list(context, RowOfValues, address, body=body, cursor=cursor, per_page=per_page)
    return Rows(rows=page.rows, **page.fields)


def _make_sort(sort: Sort) -> dict[str, str]:
    kind = "timestamp" if sort.property in ("created_time", "last_edited_time") else "property"
    return {kind: sort.property, "direction": sort.direction}


@tool(hints=ADD_HINTS, scopes=[INSERT_CONTENT])
async def create_database(
    context: Context,
    parent_page_id: PageId,
    title: Annotated[str, limit_length(1, 2_000), Field(description="Title")],
    columns: Annotated[
        OptionalParameter[Annotated[dict[str, ColumnType], limit_length(maximum=100)]],
        Field(description="Name to type, beside the title's"),
    ] = None,
    title_column: Annotated[ShortText, Field(description="Name of the title's column")] = "Name",
) -> NotionDatabase:
    """Create a database with one data source below a page."""
    if title_column in (columns or {}):
        raise ToolError(f"{title_column!r} is the column of the title: give title_column another name")
    properties: dict[str, Any] = {
        title_column: {"title": {}},
        **{name: {kind: {}} for name, kind in (columns or {}).items()},
    }
    body = {
        "parent": {"type": "page_id", "page_id": parent_page_id},
        "title": parse_rich_text(title),
        "initial_data_source": {"properties": properties},
    }
    return await rest_client.fetch_one(context, NotionDatabase, "/v1/databases", method="POST", json=body)


@tool(hints=CHANGE_HINTS, scopes=[UPDATE_CONTENT])
async def update_database(
    context: Context,
    database_id: DatabaseId,
    title: Annotated[OptionalParameter[Annotated[str, limit_length(1, 2_000)]], Field(description="Title")] = None,
    in_trash: Annotated[OptionalParameter[bool], Field(description="true removes, false restores")] = None,
) -> SavedObject:
    """Rename a database, or move it to the trash and back."""
    if title is None and in_trash is None:
        raise ToolError("there is nothing to change: give at least one of title, in_trash")
    body: dict[str, Any] = {} if in_trash is None else {"in_trash": in_trash}
    if title is not None:
        body["title"] = parse_rich_text(title)
    address = build_path("/v1/databases/{}", database_id)
    return await rest_client.fetch_one(context, SavedObject, address, method="PATCH", json=body)


@tool(hints=CHANGE_HINTS, scopes=[UPDATE_CONTENT])
async def update_data_source(
    context: Context,
    data_source_id: DataSourceId,
    add: Annotated[
        OptionalParameter[Annotated[dict[str, ColumnType], limit_length(1, 30)]], Field(description="Name to type")
    ] = None,
    rename: Annotated[
        OptionalParameter[Annotated[dict[str, ShortText], limit_length(1, 30)]],
        Field(description="Name to new name"),
    ] = None,
    remove: Annotated[
        OptionalParameter[Annotated[list[ShortText], limit_items(1, 100)]],
        Field(description="Names; their values go with them"),
    ] = None,
) -> DataSource:
    """Add, rename and remove columns."""
    if not (add or rename or remove):
        raise ToolError("there is nothing to change: give at least one of add, rename, remove")
    address = build_path("/v1/data_sources/{}", data_source_id)
    answer = await rest_client.send_request(context, "GET", address)
    columns = answer.read_part(dict[str, Any], answer.read(dict[str, Any]).get("properties"))
    check_column_changes(columns, add or {}, rename or {}, remove or ())
    properties: dict[str, Any] = {name: {kind: {}} for name, kind in (add or {}).items()}
    properties |= {name: {"name": new} for name, new in (rename or {}).items()}
    properties |= dict.fromkeys(remove or (), None)
    body = {"properties": properties}
    return await rest_client.fetch_one(context, DataSource, address, method="PATCH", json=body)


def check_column_changes(
    columns: Mapping[str, Any], add: Mapping[str, str], rename: Mapping[str, str], remove: Sequence[str]
) -> None:
    """Check what is to be done with the columns that a data source has.

    Raises:
        ToolError: a column does not exist, a name would stand twice, or the title would go.
    """
    known = ", ".join(map(clean_line, columns))[:500]
    for parameter, names in (("rename", rename), ("remove", remove)):
        if missing := [name for name in names if name not in columns]:
            raise ToolError(f"{parameter}: there is no column {clean_line(missing[0])!r}; there are {known}")
    if twice := [name for name in remove if name in rename]:
        raise ToolError(f"remove: {clean_line(twice[0])!r} stands in rename, too")
    if any(columns[name].get("type") == "title" for name in remove):
        raise ToolError("remove: the column of the title stays; rename can give it another name")
    taken = set(columns)  # of those that go, too: in which order Notion does what it is asked for is not documented
    for parameter, names in (("rename", rename.values()), ("add", add)):
        for name in names:
            if not name.strip() or name in taken:
                raise ToolError(f"{parameter}: {clean_line(name)!r} is taken or empty; there are {known}")
            taken.add(name)


TOOLS = (get_database, get_data_source, query_data_source, create_database, update_database, update_data_source)
