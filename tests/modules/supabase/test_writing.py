"""Changes through `/mcp`: what costs money is asked about first, and secrets stay where they are."""

from typing import Any

import pytest

from modules.supabase.prices import BRANCH_PRICE
from tests.support.module_app import ModuleApp
from tests.support.supabase_double import Refused, SupabaseDouble
from tests.support.supabase_double.world import REF
from tests.support.vendor_double import VendorReply

pytestmark = [pytest.mark.asyncio(loop_scope="package"), pytest.mark.usefixtures("tidy_world")]
PASSWORD = "correct horse battery staple"


async def change(app: ModuleApp, tool_name: str, /, **params: Any) -> dict[str, Any]:
    answer = await app.call(tool_name, **params)
    assert not answer.failed, answer.text
    return answer.value


@pytest.mark.parametrize(
    ("plan", "running", "price"),
    [("free", 0, "0 USD per month"), ("free", 1, "0 USD per month"), ("pro", 0, "0 USD per month"),
     ("pro", 1, "10 USD per month"), ("team", 3, "10 USD per month"), ("enterprise", 0, "10 USD per month")],
)  # fmt: skip
async def test_a_project_is_made_after_its_price(
    app: ModuleApp, vendor: SupabaseDouble, plan: str, running: int, price: str
) -> None:
    slug = f"{plan}-{running}"
    vendor.world.organization(slug, plan)
    for number in range(running):
        vendor.world.project(str(number), slug)
    vendor.world.project("paused", slug)["status"] = "INACTIVE"
    before = len(vendor.seen)
    wanted = {"name": "新", "organization": slug, "region": "emea", "db_pass": PASSWORD}
    asked = await change(app, "create_project", **wanted)
    assert (asked["price"], asked["created"]) == (price, False)
    assert f"call again with confirm_cost '{price}'" in asked["next_step"]
    assert f"https://supabase.com/dashboard/org/{slug}/billing" in asked["source"]
    assert (await change(app, "create_project", **wanted, confirm_cost="1 USD per month"))["created"] is False
    assert not any(one.startswith("POST") for one in vendor.seen[before:])
    made = await change(app, "create_project", **wanted, confirm_cost=price)
    assert made["created"] is True
    assert vendor.world.projects[made["ref"]]["region"] == "emea"
    assert vendor.world.passwords[made["ref"]] == PASSWORD
    assert PASSWORD not in str(made)


async def test_a_password_is_made_where_none_is_given(app: ModuleApp, vendor: SupabaseDouble) -> None:
    vendor.world.organization("fresh", "free")
    wanted = {"name": "x", "organization": "fresh", "region": "eu-central-1", "confirm_cost": "0 USD per month"}
    answer = await app.call("create_project", **wanted)
    password = vendor.world.passwords[answer.value["ref"]]
    assert len(password) >= 40
    assert password not in answer.text
    for wrong in ("short-secret", "long-secret" * 20):
        refused = await app.call("create_project", **wanted, db_pass=wrong[:11] if wrong == "short-secret" else wrong)
        assert refused.failed
        assert "db_pass must have 12 to 128 characters" in refused.text
        assert wrong[:11] not in refused.text


async def test_a_project_is_paused_and_restored(app: ModuleApp, vendor: SupabaseDouble) -> None:
    ref = vendor.world.project("sleepy", "acme")["ref"]
    assert "until its status is INACTIVE" in (await change(app, "pause_project", ref=ref))["next_step"]
    vendor.world.projects[ref]["status"] = "INACTIVE"
    answer = await app.call("execute_sql", ref=ref, query="select 1")
    assert "the project is paused: restore it first" in answer.text
    assert "ACTIVE_HEALTHY" in (await change(app, "restore_project", ref=ref))["next_step"]
    assert vendor.world.projects[ref]["status"] == "RESTORING"


async def test_waiting_for_a_project(app: ModuleApp, vendor: SupabaseDouble) -> None:
    project = vendor.world.project("slow", "acme")
    project["status"] = "INACTIVE"
    vendor.refusals = [None, VendorReply(200, {**project, "status": "ACTIVE_HEALTHY"})]
    made = await change(app, "restore_project", ref=project["ref"], wait_seconds=5)
    assert made == {"ref": project["ref"], "accepted": True, "status": "ACTIVE_HEALTHY"}
    project["status"] = "INACTIVE"
    before = len(vendor.seen)
    made = await change(app, "restore_project", ref=project["ref"], wait_seconds=1)
    assert (made["status"], "ACTIVE_HEALTHY" in made["next_step"]) == ("RESTORING", True)
    assert len(vendor.seen) == before + 2
    vendor.refusals = [None, Refused(403, "Forbidden")]
    made = await change(app, "pause_project", ref=project["ref"], wait_seconds=5)
    assert ("status" in made, "INACTIVE" in made["next_step"]) == (False, True), "what was accepted is not an error"
    refused = await app.call("pause_project", ref=project["ref"], wait_seconds=51)
    assert "wait_seconds" in refused.text


async def test_sql_changes_only_with_its_own_tool(app: ModuleApp) -> None:
    insert = "insert into public.orders (id, price) values ($1, $2) returning id, price"
    answer = await app.call("execute_sql", ref=REF, query=insert, parameters=[1, 5])
    assert answer.failed
    assert "(25006): the query changes something, and this tool only reads" in answer.text
    made = await change(app, "execute_sql_write", ref=REF, query=insert, parameters=[1, 5])
    assert (made["columns"], made["rows"]) == (["id", "price"], [[1, "5"]])
    several = "update public.orders set price = 6; delete from public.orders;"
    assert (await change(app, "execute_sql_write", ref=REF, query=several))["rows"] == []
    many = "insert into public.orders (id) select n from pg_catalog.generate_series(1, 50) n returning id"
    made = await change(app, "execute_sql_write", ref=REF, query=many, max_rows=10)
    assert (len(made["rows"]), made["total"], "nextCursor" in made) == (10, 50, False)
    await change(app, "execute_sql_write", ref=REF, query="delete from public.orders")


async def test_a_migration_is_applied_once(app: ModuleApp, vendor: SupabaseDouble) -> None:
    wanted = {"ref": REF, "name": "add_colors", "query": "create table public.colors (id int); -- 色"}
    assert (await change(app, "apply_migration", **wanted))["applied"] is True
    assert (await change(app, "apply_migration", **wanted))["applied"] is True
    assert [one["name"] for one in vendor.world.migrations.values()].count("add_colors") == 1
    answer = await app.call("apply_migration", **{**wanted, "name": "again"})
    assert "PostgreSQL refuses the query (42P07): a table or view of that name exists already" in answer.text
    vendor.refusals.append(Refused(403, "Forbidden resource"))
    assert "personal access token" in (await app.call("apply_migration", **wanted)).text
    await change(app, "execute_sql_write", ref=REF, query="drop table public.colors")


async def test_a_branch_from_its_price_to_its_end(app: ModuleApp, vendor: SupabaseDouble) -> None:
    wanted = {"ref": REF, "name": "機能", "git_branch": "feature/x"}
    asked = await change(app, "create_branch", **wanted)
    assert (asked["price"], asked["created"], vendor.world.branches) == ("0.01344 USD per hour", False, {})
    made = await change(app, "create_branch", **wanted, confirm_cost=BRANCH_PRICE.text)
    assert (made["created"], made["name"]) == (True, "機能")
    [branch_id] = vendor.world.branches
    again = await app.call("create_branch", **wanted, confirm_cost=BRANCH_PRICE.text)
    assert "there is one of that name already" in again.text
    for tool, status in (("merge_branch", "RUNNING_MIGRATIONS"), ("reset_branch", "CREATING_PROJECT"),
                         ("rebase_branch", "MIGRATIONS_FAILED")):  # fmt: skip
        started = await change(app, tool, branch=made["project_ref"])
        assert started["workflow_run"].startswith("run-")
        assert vendor.world.branches[branch_id]["status"] == status
    await change(app, "reset_branch", branch=branch_id, migration_version="20260101000000")
    assert vendor.bodies[-1] == b'{"migration_version":"20260101000000"}'
    assert await change(app, "delete_branch", branch=branch_id, force=False) == {
        "scheduled": True,
        "next_step": "it is still there for an hour, unless the project deletes at once: list the branches",
    }  # fmt: skip
    assert "force=false" in vendor.seen[-1]
    assert vendor.world.branches == {}


async def test_an_edge_function_is_deployed_and_read_back(app: ModuleApp, vendor: SupabaseDouble) -> None:
    files = [
        {"path": "index.ts", "content": "import './lib/größe 1.ts'; // \r\n--MCPist-\r\n"},
        {"path": "lib/größe 1.ts", "content": ""},
        {"path": "deno.json", "content": "{}"},
    ]
    made = await change(
        app, "deploy_edge_function", ref=REF, slug="new-one", files=files, import_map_path="deno.json", verify_jwt=False
    )
    assert (made["slug"], made["version"], made["verify_jwt"]) == ("new-one", 1, False)
    assert vendor.seen[-1] == f"POST /v1/projects/{REF}/functions/deploy?slug=new-one"
    for one in files:
        read = await change(app, "get_edge_function", ref=REF, slug="new-one", path=one["path"])
        assert read.get("content", "") == one["content"]
    assert [one["path"] for one in read["files"]] == [one["path"] for one in files]
    one = [{"path": "main.ts", "content": "x"}]
    assert (await change(app, "deploy_edge_function", ref=REF, slug="new-one", files=one))["version"] == 2
    read = await change(app, "get_edge_function", ref=REF, slug="new-one")
    assert ([file["path"] for file in read["files"]], read["content"]) == (["main.ts"], "x")
    vendor.refusals.append(Refused(400, "Failed to bundle the function (reason: …)"))
    answer = await app.call("deploy_edge_function", ref=REF, slug="new-one", files=one)
    assert "cannot be bundled" in answer.text
    del vendor.world.functions["new-one"]


async def test_an_edge_function_is_deleted(app: ModuleApp, vendor: SupabaseDouble) -> None:
    vendor.world.function("doomed", {"index.ts": b""}, "index.ts")
    assert await change(app, "delete_edge_function", ref=REF, slug="doomed") == {"deleted": True}
    answer = await app.call("delete_edge_function", ref=REF, slug="doomed")
    assert "no edge function of that slug" in answer.text


async def test_storage_settings(app: ModuleApp, vendor: SupabaseDouble) -> None:
    await change(app, "update_storage_config", ref=REF, file_size_limit=0, s3_protocol=True)
    assert await change(app, "get_storage_config", ref=REF) == {"image_transformation": True, "s3_protocol": True}
    await change(app, "update_storage_config", ref=REF, file_size_limit=1_000, s3_protocol=False)
    assert vendor.world.config["fileSizeLimit"] == 1_000
    answer = await app.call("update_storage_config", ref=REF)
    assert "there is nothing to change" in answer.text


async def test_source_that_is_too_large_is_told(app: ModuleApp, vendor: SupabaseDouble) -> None:
    vendor.world.function("huge", {"index.ts": b"x" * 12_000_000}, "index.ts")
    answer = await app.call("get_edge_function", ref=REF, slug="huge")
    del vendor.world.functions["huge"]
    assert answer.failed
    assert "large" in answer.text, answer.text
