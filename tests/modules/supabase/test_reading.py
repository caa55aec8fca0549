"""Reading through `/mcp`: what a client gets, page by page, in any script, and of the largest answers."""

from typing import Any

import pytest

from tests.support.module_app import ModuleApp
from tests.support.supabase_double import SupabaseDouble
from tests.support.supabase_double.world import REF

pytestmark = pytest.mark.asyncio(loop_scope="package")


async def read(app: ModuleApp, tool_name: str, /, **params: Any) -> dict[str, Any]:
    answer = await app.call(tool_name, **params)
    assert not answer.failed, answer.text
    return answer.value


async def test_organizations_and_projects(app: ModuleApp, vendor: SupabaseDouble) -> None:
    found = await read(app, "list_organizations")
    assert {"slug": "acme", "name": "Acme"} in found["organizations"]
    assert await read(app, "get_organization", slug="acme") == {"slug": "acme", "name": "Acme", "plan": "pro"}
    address = f"https://supabase.com/dashboard/project/{REF}/editor"
    project = await read(app, "get_project", ref=address)
    assert project["ref"] == REF
    assert project["database_host"] == f"db.{REF}.supabase.co"
    assert await read(app, "get_project_url", ref=REF) == {"url": f"https://{REF}.supabase.co"}
    health = await read(app, "get_project_health", ref=REF)
    assert [one["name"] for one in health["services"]] == ["auth", "db", "pooler", "realtime", "rest", "storage"]


async def test_listing(app: ModuleApp) -> None:
    tables = await read(app, "list_tables", ref=REF)
    print(tables)
    print(await read(app, "list_tables", ref=REF, table="users"))
    print(await read(app, "list_extensions", ref=REF))
    print(await read(app, "execute_sql", ref=REF, query="select * from public.users where id > $1", parameters=[0]))
