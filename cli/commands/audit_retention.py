"""`mcpist audit retention`: how long audit logs are kept."""

from typing import TYPE_CHECKING, Annotated

import typer

from cli.options import JsonOption, TenantOption
from cli.output import format_local_time, print_line, print_result
from cli.progress import Report
from cli.runner import run_api_command, run_local
from core.errors import Invalid

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cli.client.admin_api import AdminApiClient
    from cli.client.audit_retention import AuditRetentionEntry, DeploymentRetention
    from core.config.settings import Settings

app = typer.Typer(
    help="How long audit logs are kept.",
    invoke_without_command=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    epilog="Example: mcpist audit retention --deployment",
)


@app.callback()
def show(
    context: typer.Context,
    tenant: TenantOption = None,
    deployment: Annotated[bool, typer.Option("--deployment", help="And where that is set, for the operator.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show how long the audit log is kept, and since when it is. It is the same for all tenants."""
    if context.invoked_subcommand is not None:
        return
    if deployment and tenant:
        raise typer.BadParameter("--deployment goes without --tenant")
    if deployment:
        _print_deployment_retention(run_api_command(_fetch_deployment, needs_tenant=False), as_json)
        return

    def call_api(api: "AdminApiClient") -> "AuditRetentionEntry":
        from cli.client.audit_retention import fetch_retention

        return fetch_retention(api)

    kept = run_api_command(call_api, tenant=tenant)
    oldest = "The log is empty." if kept.oldest_at is None else f"Oldest entry: {format_local_time(kept.oldest_at)}"
    document = {"keep_months": kept.keep_months, "oldest_at": kept.oldest_at}
    print_result(as_json, document, lambda: print_line(f"{_describe_months(kept.keep_months)} {oldest}"))


@app.command("set", epilog="Example: mcpist audit retention set --keep-months 24")
def set_(
    keep_months: Annotated[
        int, typer.Option("--keep-months", metavar="N", help="Whole months to keep before this one, 1 to 1200.")
    ],
    confirm: Annotated[
        int | None, typer.Option("--confirm", metavar="DAYS", help="The number of days that are deleted, if any are.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Store how long the audit logs of all tenants are kept. Older months are deleted permanently, within minutes."""

    def call_api(api: "AdminApiClient") -> "DeploymentRetention":
        from cli.client.audit_retention import preview_retention, put_retention

        loss = preview_retention(api, keep_months)
        if loss.days and confirm != loss.days:
            raise Invalid(
                f"this permanently deletes {loss.days} days of the logs of all tenants, everything before "
                f"{loss.first_kept_day}; to confirm, add --confirm {loss.days}"
            )
        return put_retention(api, keep_months)

    _print_deployment_retention(run_api_command(call_api, needs_tenant=False), as_json)


@app.command("reset", epilog="Example: mcpist audit retention reset")
def reset(as_json: JsonOption = False) -> None:
    """Go back to what MCPIST_AUDIT_KEEP_MONTHS says where MCPist runs, which is never less."""

    def call_api(api: "AdminApiClient") -> "DeploymentRetention":
        from cli.client.audit_retention import reset_retention

        return reset_retention(api)

    _print_deployment_retention(run_api_command(call_api, needs_tenant=False), as_json)


@app.command("apply", epilog="Example: mcpist audit retention apply")
def apply(as_json: JsonOption = False) -> None:
    """Delete the months that are not kept, now: for a timer, where no `mcpist up` runs, which does it by itself.

    It needs the administrator's login of the database, which no other process of a split deployment has.
    """

    async def work(settings: "Settings", report: Report) -> list[str]:
        from core.directory.audit_retention import AuditRetentionStore
        from server.audit_retention import apply_retention
        from server.data_folder import attach_database
        from server.role_database import CONSOLE_ROLE, get_utc_now, open_role_database

        async with (
            attach_database(settings, report) as deployment,
            open_role_database(deployment, CONSOLE_ROLE, max_connections=1) as console,
        ):
            retention = AuditRetentionStore(console, settings.audit_keep_months)
            return await apply_retention(deployment, retention, get_utc_now())

    print_dropped_months(run_local(work), as_json)


def print_dropped_months(partitions: "Sequence[str]", as_json: bool) -> None:
    """Print the months whose partitions were dropped."""
    months = [name.removeprefix("events_").replace("_", "-") for name in partitions]
    text = f"Deleted {', '.join(months)}." if months else "Nothing is older."
    print_result(as_json, {"dropped_months": months}, lambda: print_line(text))


def _fetch_deployment(api: "AdminApiClient") -> "DeploymentRetention":
    from cli.client.audit_retention import fetch_deployment_retention

    return fetch_deployment_retention(api)


def _describe_months(months: int | None) -> str:
    return "Everything is kept." if months is None else f"Kept for {months} whole months."


def _print_deployment_retention(retention: "DeploymentRetention", as_json: bool) -> None:
    from msgspec import to_builtins

    default = "everything" if retention.default_keep_months is None else f"{retention.default_keep_months} months"
    stored = "nothing" if retention.stored_keep_months is None else f"{retention.stored_keep_months} months"
    oldest = "" if retention.oldest_month is None else f" Oldest month: {retention.oldest_month:%Y-%m}."
    text = f"{_describe_months(retention.keep_months)} Stored: {stored}. MCPIST_AUDIT_KEEP_MONTHS: {default}.{oldest}"
    print_result(as_json, to_builtins(retention), lambda: print_line(text))
