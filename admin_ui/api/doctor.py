"""``/doctor``: what is wrong, as `mcpist doctor` says it, as far as the caller may know."""

from typing import Literal

from pydantic import Field

from admin_ui.api.admin_dependencies import AdminDeps
from core.api.app import create_router
from core.api.dependencies import CurrentUserRead
from core.api.schemas import ResponseModel
from core.scopes import ADMIN_READ, covers

routes = create_router("doctor")


class FindingView(ResponseModel):
    """Result of one check."""

    check: str = Field(description="Name of the check.")
    state: Literal["ok", "warning", "error"] = Field(description="Result: `ok`, `warning` or `error`.")
    message: str = Field(description="Finding, and the action to take.")
    message_ja: str = Field(description="Japanese text of `message`; the English one where it comes from elsewhere.")


class DoctorView(ResponseModel):
    """Results of all checks."""

    healthy: bool = Field(description="True unless a check has the state `error`.")
    checks: list[FindingView] = Field(description="Results, the most urgent first.")


@routes.get("/doctor")
async def show_doctor(caller: CurrentUserRead, dependencies: AdminDeps) -> DoctorView:
    """Run the diagnostic checks.

    Users see their own accounts, administrators their tenant, and the operator also the deployment: data folder, keys,
    database, schema, clock and audit log. Beyond fifty accounts only their number is returned.
    """
    administers = caller.is_administrator_with(ADMIN_READ)
    findings = (
        list(await dependencies.checks.check_deployment())
        if caller.operator and covers(caller.scopes, ADMIN_READ)
        else []
    )
    findings += await dependencies.checks.check_tenant(caller.tenant_id, None if administers else caller.user_id)
    checks = [FindingView.model_validate(finding) for finding in findings]
    return DoctorView(healthy=all(finding.state != "error" for finding in checks), checks=checks)
