"""Access of a program to a project: its address, the keys that may be public, the types of its tables."""

import base64
import binascii
from collections.abc import Mapping
from typing import Annotated, Any, cast

import orjson
from pydantic import BaseModel, Field

from modules.kit import Context, ToolError, build_path, tool
from modules.kit.paging import parse_cursor
from modules.kit.parameters import READ_HINTS, CursorText, OptionalParameter
from modules.kit.result_texts import TextResult
from modules.kit.results import LEFT_OUT_IF_EMPTY, Count, Line, Name, ResultModel, ResultPage, Url, Word, read_rows
from modules.kit.whole_lists import WHOLE, cut_text
from modules.supabase import rest_client
from modules.supabase.parameters import READ_DATABASE, READ_PROJECTS, READ_SECRETS, ProjectRef, SchemaNames

_TYPES = "/v1/projects/{}/types/typescript"
_NEW_KEY = "sb_publishable_"
Key = Mapping[str, Any]


class ProjectUrl(ResultModel):
    url: Url


class PublishableKey(ResultModel):
    """`api_key` is missing where Supabase keeps it back."""

    name: Line
    api_key: Annotated[Name, LEFT_OUT_IF_EMPTY] = ""
    type: Word = ""
    description: Word = ""


class PublishableKeys(ResultModel):
    keys: list[PublishableKey]
    unreadable: Count = 0


class TypescriptTypes(TextResult, ResultPage):
    """`hidden` invisible characters of this page were taken out, such as those of a comment on a column."""

    text_field = "types"

    types: str
    hidden: Count = 0


class _TypesAnswer(BaseModel):
    types: str


@tool(hints=READ_HINTS, scopes=[READ_PROJECTS])
async def get_project_url(context: Context, ref: ProjectRef) -> ProjectUrl:
    """The address of a project's API."""
    return ProjectUrl(url=f"https://{ref}.supabase.co")


@tool(hints=READ_HINTS, scopes=[READ_SECRETS])
async def get_publishable_keys(context: Context, ref: ProjectRef) -> PublishableKeys:
    """The API keys that clients may have (publishable, anon); never secret ones."""
    address = build_path("/v1/projects/{}/api-keys", ref)
    answer = await rest_client.send_request(context, "GET", address, query={"reveal": False})
    rows = answer.read(list[Any])
    known = [cast("Key", one) for one in rows if isinstance(one, Mapping)]
    if rows and not known:
        raise answer.build_unreadable_problem()
    keys = [one for one in known if _is_public(one)]
    if not keys:
        raise ToolError("the project has no publishable key: create one in its settings (API keys)")
    read = await read_rows(answer, PublishableKey, keys)
    return PublishableKeys(keys=read.rows, unreadable=read.unreadable)


def _is_public(key: Key) -> bool:
    """Check whether a key may be shown to anybody: it is called public, and what it holds says nothing else."""
    kind, name, value = key.get("type"), key.get("name"), key.get("api_key")
    if kind == "publishable":
        return value is None or (isinstance(value, str) and value.startswith(_NEW_KEY))
    if kind not in ("legacy", None) or name != "anon":
        return False
    return value is None or (isinstance(value, str) and _read_role(value) == "anon")


def _read_role(token: str) -> str:
    """The role that a legacy key, a JSON Web Token, is for; "" where it cannot be read."""
    parts = token.split(".")
    if len(parts) != 3:
        return ""
    try:
        claims = orjson.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (ValueError, binascii.Error):
        return ""
    return str(cast("Mapping[str, Any]", claims).get("role", "")) if isinstance(claims, dict) else ""


@tool(hints=READ_HINTS, scopes=[READ_DATABASE])
async def generate_typescript_types(
    context: Context,
    ref: ProjectRef,
    schemas: Annotated[OptionalParameter[SchemaNames], Field(description="public if left out")] = None,
    cursor: CursorText = None,
) -> TypescriptTypes:
    """TypeScript types of the tables, for supabase-js."""
    wanted = ",".join(schemas) if schemas else None
    asked = parse_cursor(cursor, WHOLE, f"{build_path(_TYPES, ref)} {wanted}", 1)
    part = cut_text(asked, await fetch_types(context, ref, wanted))
    return TypescriptTypes(types=part.text, hidden=part.hidden, nextCursor=part.next_cursor)


async def fetch_types(context: Context, ref: str, schemas: str | None = None) -> str:
    """Fetch the TypeScript types of a project's tables, not cleaned; `schemas` are parted by commas."""
    found = await rest_client.fetch(context, _TypesAnswer, build_path(_TYPES, ref), query={"included_schemas": schemas})
    return found.types


TOOLS = (get_project_url, get_publishable_keys, generate_typescript_types)
