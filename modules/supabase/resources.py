"""What people attach to a chat from Supabase: the schema of a table or of a database, and its TypeScript types."""

import re
from collections.abc import Mapping
from typing import Annotated

from pydantic import AfterValidator, Field

from modules.kit import (
    FOR_EVERYONE,
    FOR_MODELS,
    Context,
    ResourceContents,
    ToolError,
    read_json_resource,
    read_long_text_resource,
    resource,
)
from modules.kit.completions import MAX_VALUES, Option, ask_tool, choose_values
from modules.kit.parameters import limit_length
from modules.supabase.access import fetch_types
from modules.supabase.database import TableList, list_tables
from modules.supabase.parameters import READ_DATABASE, ProjectRef
from modules.supabase.projects import ProjectList, list_projects

_SCHEMA = "public"
_TABLE = re.compile(r"(?:[^\x00-\x1f\x7f.,]{1,63}\.)?[^\x00-\x1f\x7f.]{1,63}")


def _check_table(text: str) -> str:
    if not _TABLE.fullmatch(text):
        raise ValueError("is no name of a table: name, or schema.name, without control characters")
    return text


TableName = Annotated[
    str, limit_length(1, 127), AfterValidator(_check_table), Field(description="Table: name, or schema.name")
]


async def complete_project(context: Context, typed: str, known: Mapping[str, str]) -> list[str]:
    """Complete the ref of a project, by its ref or its name."""
    found = await ask_tool(context, list_projects, ProjectList, search=typed[:200].strip(), per_page=MAX_VALUES)
    return choose_values((Option(row.ref, row.name) for row in found.projects), typed)


async def complete_table(context: Context, typed: str, known: Mapping[str, str]) -> list[str]:
    """Complete the name of a table: of the schema public, or of the one that was typed before a dot."""
    schema, dot, _ = typed.partition(".")
    found = await ask_tool(
        context, list_tables, TableList, ref=known.get("project"), schemas=[schema if dot else _SCHEMA],
        per_page=MAX_VALUES,
    )  # fmt: skip
    names = (row.name if dot else row.name.removeprefix(f"{_SCHEMA}.") for row in found.tables)
    return choose_values(map(Option, names), typed)


@resource(
    "resource://supabase/schemas/{project}/{table}",
    mime_type="application/json",
    annotations=FOR_MODELS,
    scopes=[READ_DATABASE],
    title="Schema of a table",
    complete={"project": complete_project, "table": complete_table},
)
async def table_schema(context: Context, project: ProjectRef, table: TableName) -> ResourceContents:
    """The columns and constraints of a table or view, and whether its row-level security is on."""
    schema, dot, name = table.partition(".")
    schemas = [schema] if dot else [_SCHEMA]
    found = await ask_tool(context, list_tables, TableList, ref=project, schemas=schemas, table=name or table)
    if not found.tables:
        raise ToolError("there is no such table or view: outside of public, write its schema before it, schema.table")
    return read_json_resource(found.tables[0])


@resource(
    "resource://supabase/schemas/{project}",
    mime_type="application/json",
    annotations=FOR_MODELS,
    scopes=[READ_DATABASE],
    title="Schema of a database",
    complete={"project": complete_project},
)
async def database_schema(context: Context, project: ProjectRef) -> ResourceContents:
    """The first hundred tables and views of the schema public, with their columns and constraints."""
    return read_json_resource(await list_tables.run(context, ref=project, columns=True, per_page=100))


@resource(
    "resource://supabase/projects/{project}/types",
    mime_type="application/typescript",
    annotations=FOR_EVERYONE,
    scopes=[READ_DATABASE],
    title="TypeScript types",
    complete={"project": complete_project},
)
async def typescript_types(context: Context, project: ProjectRef) -> ResourceContents:
    """The types of the tables of the schema public, for supabase-js."""
    return read_long_text_resource(await fetch_types(context, project))


RESOURCES = (table_schema, database_schema, typescript_types)
