"""``/doctor``: what is wrong, as `mcpist doctor` says it, as far as the caller may know."""

from typing import Literal

from admin_ui.api.admin_dependencies import AdminDeps
from core.api.app import create_router
from core.api.dependencies import CurrentUserRead
from core.api.schemas import ResponseModel
from core.scopes import ADMIN_READ, covers

routes = create_router("doctor")


class FindingView(ResponseModel):
    """One thing that was looked at; `message` says what was found, and what to do about it."""

    check: str
    state: Literal["ok", "warning", "error"]
    message: str


class DoctorView(ResponseModel):
    """It is `healthy` unless a check has an error. Accounts that wait for their owner are warnings."""

    healthy: bool
    checks: list[FindingView]


@routes.get("/doctor")
async def show_doctor(caller: CurrentUserRead, parts: AdminDeps) -> DoctorView:
    """Everybody is told of their own accounts, administrators of their tenant, and the operator of the deployment too:
    its folder, keys, database, schema, clock and audit log. What needs somebody comes first, and more than fifty
    accounts are only counted."""
    administers = caller.is_administrator_with(ADMIN_READ)
    found = list(await parts.checks.check_deployment()) if caller.operator and covers(caller.scopes, ADMIN_READ) else []
    found += await parts.checks.check_tenant(caller.tenant_id, None if administers else caller.user_id)
    checks = [FindingView.model_validate(one) for one in found]
    return DoctorView(healthy=all(one.state != "error" for one in checks), checks=checks)
