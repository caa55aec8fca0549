"""The schema of a project's database: tables, extensions, migrations."""

from typing import Annotated, Any, cast

import orjson
from pydantic import Field, model_validator

from modules.kit import Context, ToolError, build_path, tool
from modules.kit.paging import parse_cursor
from modules.kit.parameters import (
    ACTION_HINTS,
    READ_HINTS,
    CursorText,
    OptionalParameter,
    PerPage,
    ShortText,
    limit_length,
)
from modules.kit.results import (
    Count,
    CountedPage,
    Flag,
    Line,
    ResultModel,
    ResultPage,
    Word,
    read_at,
    read_each,
    read_rows,
)
from modules.kit.whole_lists import WHOLE, cut_page, cut_text, format_cursor_from, get_start
from modules.supabase import rest_client
from modules.supabase.catalogue_queries import EXTENSIONS, TABLES
from modules.supabase.parameters import (
    READ_DATABASE,
    WRITE_DATABASE,
    MigrationVersion,
    ProjectRef,
    SchemaNames,
    SqlText,
)

_LEFT_OUT = Field(exclude_if=lambda rows: not rows)
_MIGRATIONS = "/v1/projects/{}/database/migrations"


class ColumnRow(ResultModel):
    name: Line
    type: Line
    not_null: Flag = False
    default: Word = ""
    generated: Flag = False
    comment: Word = ""


class TableRow(ResultModel):
    """`rls`: row-level security is on. `rows_estimate` is PostgreSQL's own."""

    name: Line
    kind: Word = ""
    rls: bool = False
    rows_estimate: Count = 0
    comment: Word = ""
    columns: Annotated[list[ColumnRow], read_each(ColumnRow), _LEFT_OUT] = []  # noqa: RUF012
    constraints: Annotated[list[Line], _LEFT_OUT] = []  # noqa: RUF012
    total: Annotated[int, Field(exclude=True)] = 0

    @model_validator(mode="before")
    @classmethod
    def _name_fully(cls, raw: Any) -> Any:
        if not isinstance(raw, dict):
            return raw
        row = cast("dict[str, Any]", raw)
        given = {name: value for name, value in row.items() if value is not None}
        return {**given, "name": f"{row.get('schema')}.{row.get('name')}"} if "schema" in row else given


class TableList(CountedPage):
    """Tables and views, each as schema.name."""

    tables: list[TableRow]


class ExtensionRow(ResultModel):
    name: Line
    installed_version: Word = ""
    default_version: Word = ""
    schema_name: Annotated[Word, read_at("schema")] = ""


class ExtensionList(CountedPage):
    extensions: list[ExtensionRow]


class MigrationRow(ResultModel):
    version: Line
    name: Word = ""


class MigrationList(CountedPage):
    migrations: list[MigrationRow]


class MigrationDetails(ResultPage):
    """The SQL less `hidden` invisible characters of this page."""

    version: Line
    name: Word = ""
    created_by: Word = ""
    statements: str
    hidden: Count = 0


class AppliedMigration(ResultModel):
    name: Line
    applied: bool = True


class _MigrationAnswer(ResultModel):
    version: Line
    name: Word = ""
    created_by: Word = ""
    statements: list[str] = []  # noqa: RUF012


@tool(hints=READ_HINTS, scopes=[READ_DATABASE])
async def list_tables(
    context: Context,
    ref: ProjectRef,
    schemas: Annotated[OptionalParameter[SchemaNames], Field(description="public if left out")] = None,
    table: Annotated[ShortText, Field(description="Only this one, with its columns")] = "",
    columns: Annotated[bool, Field(description="With columns and constraints")] = False,
    per_page: PerPage = 100,
    cursor: CursorText = None,
) -> TableList:
    """Tables and views: row-level security, estimated rows, columns on demand."""
    names = orjson.dumps(schemas or ["public"]).decode()
    asked = parse_cursor(cursor, WHOLE, f"tables {ref} {names} {table}", per_page)
    parameters = (names, table, asked.size, get_start(asked), columns or bool(table))
    answer = await rest_client.send_query(context, ref, TABLES, parameters)
    found = answer.read(list[Any])
    read = await read_rows(answer, TableRow, found)
    total = max((one.total for one in read.rows), default=0)
    next_cursor = format_cursor_from(asked, get_start(asked) + len(found), total)
    return TableList(tables=read.rows, total=total, unreadable=read.unreadable, nextCursor=next_cursor)


@tool(hints=READ_HINTS, scopes=[READ_DATABASE])
async def list_extensions(
    context: Context,
    ref: ProjectRef,
    available: Annotated[bool, Field(description="Also those not installed")] = False,
    per_page: PerPage = 100,
    cursor: CursorText = None,
) -> ExtensionList:
    """Extensions of the database with their versions."""
    asked = parse_cursor(cursor, WHOLE, f"extensions {ref} {available}", per_page)
    answer = await rest_client.send_query(context, ref, EXTENSIONS, (available,))
    page = cut_page(asked, await read_rows(answer, ExtensionRow, answer.read(list[Any])))
    return ExtensionList(extensions=page.rows, **page.fields)


@tool(hints=READ_HINTS, scopes=[READ_DATABASE])
async def list_migrations(
    context: Context,
    ref: ProjectRef,
    per_page: PerPage = 100,
    cursor: CursorText = None,
) -> MigrationList:
    """Applied migrations, newest first."""
    address = build_path(_MIGRATIONS, ref)
    asked = parse_cursor(cursor, WHOLE, address, per_page)
    read = await rest_client.fetch_rows(context, MigrationRow, address, partners_only=True)
    read.rows.sort(key=lambda one: one.version, reverse=True)
    page = cut_page(asked, read)
    return MigrationList(migrations=page.rows, **page.fields)


@tool(hints=READ_HINTS, scopes=[READ_DATABASE])
async def get_migration(
    context: Context, ref: ProjectRef, version: MigrationVersion, cursor: CursorText = None
) -> MigrationDetails:
    """One migration with its SQL."""
    address = build_path(_MIGRATIONS + "/{}", ref, version)
    asked = parse_cursor(cursor, WHOLE, address, 1)
    missing = "there is no migration of that version: look at the list of migrations"
    found = await rest_client.fetch(context, _MigrationAnswer, address, missing=missing, partners_only=True)
    part = cut_text(asked, ";\n".join(found.statements))
    return MigrationDetails(
        version=found.version,
        name=found.name,
        created_by=found.created_by,
        statements=part.text,
        hidden=part.hidden,
        nextCursor=part.next_cursor,
    )


@tool(hints=ACTION_HINTS, scopes=[WRITE_DATABASE])
async def apply_migration(
    context: Context,
    ref: ProjectRef,
    name: Annotated[str, limit_length(1, 200), Field(description="In snake_case")],
    query: Annotated[SqlText, Field(description="SQL")],
) -> AppliedMigration:
    """Change the schema by SQL and record it as a migration. The same name and SQL again changes nothing."""
    if not name.replace("_", "").isalnum() or not name.isascii():
        raise ToolError("name is no name of a migration: letters, digits and _ only")
    await rest_client.send_migration(context, build_path(_MIGRATIONS, ref), name, query)
    return AppliedMigration(name=name)


TOOLS = (list_tables, list_extensions, list_migrations, get_migration, apply_migration)
