"""What every tool of Toggl's goes through."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import pytest

from modules.toggl import MODULE
from tests.support.module_app import make_app_fixtures
from tests.support.toggl_double import TOGGL_SCHEME, TogglDouble, TogglToken, build_quota_refusal, toggl_double
from tests.support.tool_calls import Calls
from tests.support.tool_walk import ToolWalk
from tests.support.vendor_double import VendorRefusal

pytestmark = pytest.mark.asyncio(loop_scope="module")

vendor, app = make_app_fixtures(MODULE, toggl_double, eves="stranger", every_scheme=TOGGL_SCHEME)


class TestEveryTool(ToolWalk):
    module = MODULE
    eves = "stranger"
    own = frozenset({"start_timer"})
    secret = "議事録|報告"
    free = frozenset({"get_running_timer"})
    lacking = "permission"
    limits = 4
    single = frozenset({"list_workspaces"})
    ids = frozenset({"workspace_id", "project_id"})
    limited = r"try again in (8\d|90) s"

    def furnish(self, vendor: TogglDouble) -> Calls:
        vendor.reset()
        now = datetime.now(UTC).replace(microsecond=0)
        project = vendor.add_project("報告 تقرير", client_name="顧客")
        vendor.add_project("Two")
        vendor.add_entry(now - timedelta(hours=5), 3_600, "議事録 محضر", project_id=project["id"], tags=["深い"])
        vendor.add_entry(now - timedelta(hours=3), 1_800, "Two")
        vendor.add_entry(now - timedelta(hours=1), -1, "議事録")
        home = {"workspace_id": vendor.account.workspace}
        return {
            "get_profile": {},
            "list_workspaces": {},
            "list_projects": home,
            "list_time_entries": {},
            "get_running_timer": {},
            "start_timer": {**home, "description": "報告を書く", "project_id": project["id"], "tags": ["深い"]},
            "stop_timer": {},
        }

    def make_keys(self, vendor: TogglDouble) -> Mapping[str, str]:
        vendor.tokens["limited"] = TogglToken(vendor.account)
        return {name: name for name in ("powerless", "reader", "stranger", "limited")}

    def make_limit(self, seconds: int) -> VendorRefusal:
        return build_quota_refusal(seconds)
