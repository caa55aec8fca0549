"""What takes long at Supabase, as a task of both forms: it goes on without its call, and the vendor is asked once."""

from typing import Any

import pytest

from modules.supabase.prices import BRANCH_PRICE
from tests.modules.supabase.calls import BRANCH
from tests.support.module_app import ModuleApp
from tests.support.supabase_double import SupabaseDouble
from tests.support.supabase_double.world import REF
from tests.support.task_forms import FORMS, run_as_task
from tests.support.vendor_double import VendorReply

pytestmark = pytest.mark.asyncio(loop_scope="package")


async def as_task(app: ModuleApp, form: str, tool_name: str, **params: Any) -> Any:
    return await run_as_task(app.node, app.ada, form, "supabase", tool_name, params)


@pytest.mark.parametrize("form", FORMS)
async def test_projects(app: ModuleApp, vendor: SupabaseDouble, form: str) -> None:
    vendor.world.organization("tasks", "free")
    wanted = {"name": "x", "organization": "tasks", "region": "emea", "confirm_cost": "0 USD per month"}
    before = len(vendor.seen)
    made = await as_task(app, form, "create_project", **wanted)
    assert (made["created"], made["status"]) == (True, "COMING_UP")
    assert vendor.seen[before:].count("POST /v1/projects") == 1
    project = vendor.world.projects[made["ref"]]
    project["status"] = "INACTIVE"
    vendor.refusals = [None, VendorReply(200, {**project, "status": "ACTIVE_HEALTHY"})]
    restored = await as_task(app, form, "restore_project", ref=made["ref"], wait_seconds=600)
    assert restored == {"ref": made["ref"], "accepted": True, "status": "ACTIVE_HEALTHY"}


@pytest.mark.usefixtures("tidy_world")
@pytest.mark.parametrize("form", FORMS)
async def test_branches(app: ModuleApp, vendor: SupabaseDouble, form: str) -> None:
    made = await as_task(app, form, "create_branch", ref=REF, name=form, confirm_cost=BRANCH_PRICE.text)
    assert (made["created"], "status" in made["next_step"]) == (True, True)
    for tool_name in ("merge_branch", "reset_branch", "rebase_branch"):
        started = await as_task(app, form, tool_name, branch=made["project_ref"])
        assert started["workflow_run"].startswith("run-")
    [branch] = vendor.world.branches.values()
    vendor.refusals = [
        VendorReply(201, {**branch, "id": BRANCH, "name": "next"}),
        VendorReply(200, [{**branch, "preview_project_status": "ACTIVE_HEALTHY", "status": "FUNCTIONS_DEPLOYED"}]),
    ]
    wanted = {"ref": REF, "name": "next", "confirm_cost": BRANCH_PRICE.text, "wait_seconds": 600}
    ready = await as_task(app, form, "create_branch", **wanted)
    assert (ready["status"], "next_step" in ready) == ("ACTIVE_HEALTHY", False)
