"""What is attached to a chat from Supabase, through `/mcp`: tables of any schema, and what is none."""

from typing import Any

import orjson
import pytest

from tests.support.module_app import ModuleApp
from tests.support.supabase_double.world import REF

pytestmark = [pytest.mark.asyncio(loop_scope="package"), pytest.mark.usefixtures("tidy_world")]
TEMPLATE = "resource://supabase/schemas/{project}/{table}"


async def read(app: ModuleApp, below: str) -> Any:
    """The value of a resource, or the text of the error."""
    uri = f"resource://supabase/schemas/{below}"
    message = (await app.node.post(app.ada.token, "resources/read", {"uri": uri})).message
    return message["error"]["message"] if "error" in message else orjson.loads(message["result"]["contents"][0]["text"])


async def complete_table(app: ModuleApp, typed: str) -> list[str]:
    params = {
        "ref": {"type": "ref/resource", "uri": TEMPLATE},
        "argument": {"name": "table", "value": typed},
        "context": {"arguments": {"project": REF}},
    }
    return (await app.node.post(app.ada.token, "completion/complete", params)).result["completion"]["values"]


async def test_a_table_by_its_name_and_schema(app: ModuleApp) -> None:
    users = await read(app, f"{REF}/users")
    assert (users["name"], users["rls"], users["columns"][0]["name"]) == ("public.users", True, "id")
    assert await read(app, f"{REF}/public.users") == users
    assert (await read(app, f"{REF}/private.names"))["kind"] == "view"
    assert {one["name"] for one in (await read(app, REF))["tables"]} == {"public.orders", "public.users"}


@pytest.mark.parametrize(
    ("below", "text"),
    [
        (f"{REF}/names", "there is no such table or view"),
        (f"{REF}/gone.users", "there is no such table or view"),
        (f"{REF}/%27%3B%20drop%20table%20users", "there is no such table or view"),
        (f"{REF}/a.b.c", "is no name of a table"),
        (f"{REF}/.users", "is no name of a table"),
        ("shop/users", "is no project ref"),
    ],
)
async def test_what_is_no_table(app: ModuleApp, below: str, text: str) -> None:
    assert text in await read(app, below)


async def test_tables_are_completed_in_their_schema(app: ModuleApp) -> None:
    assert await complete_table(app, "") == ["orders", "users"]
    assert await complete_table(app, "US") == ["users"]
    assert await complete_table(app, "private.") == ["private.names"]
    assert await complete_table(app, "gone.") == []
