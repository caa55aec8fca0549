"""`mcpist schedule`: calls that are made at times."""

from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer

from cli.json_input import read_json, read_object
from cli.options import AllOwnersOption, JsonOption, OwnerOption, TenantOption, create_group
from cli.output import print_line, print_result, print_table
from cli.runner import run_api_command
from core.errors import Invalid

if TYPE_CHECKING:
    from cli.client.admin_api import AdminApiClient
    from cli.client.schedules import ScheduleEntry

app = create_group("Calls that are made at times, also while their person is away.")

ScheduleId = Annotated[
    UUID, typer.Argument(metavar="ID", help="The schedule's id, as `mcpist schedule list` shows it.")
]


@app.command("list", epilog="Example: mcpist schedule list --state active")
def list_(
    user: OwnerOption = None,
    all_owners: AllOwnersOption = False,
    state: Annotated[
        str | None,
        typer.Option("--state", metavar="STATE", help="Only waiting_for_consent, active, paused or ended ones."),
    ] = None,
    tenant: TenantOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show schedules, newest first: your own unless you say whose."""

    def call_api(api: "AdminApiClient") -> "list[ScheduleEntry]":
        from cli.client.schedules import fetch_schedules

        return fetch_schedules(api, user, state, all_owners=all_owners)

    from msgspec import to_builtins

    schedules = run_api_command(call_api, tenant=tenant)
    columns = ("Id", "User", "Title", "Work", "When", "State", "Next run", "Last run", "Skipped", "Ended for")
    rows = [
        (
            one.id,
            one.user_email,
            one.title,
            _format_work(one),
            _format_rule(one),
            one.state,
            one.next_run_at,
            one.last_run_at,
            one.skipped_runs,
            one.end_reason,
        )
        for one in schedules
    ]
    print_result(as_json, to_builtins(schedules), lambda: print_table(columns, rows, empty="There are no schedules."))


@app.command("show", epilog="Example: mcpist schedule show 0b8e4f9c-5c1d-4f0e-9a53-2f6d1f6f7a10")
def show(schedule_id: ScheduleId, tenant: TenantOption = None, as_json: JsonOption = False) -> None:
    """Show one schedule."""

    def call_api(api: "AdminApiClient") -> "ScheduleEntry":
        from cli.client.schedules import fetch_schedule

        return fetch_schedule(api, schedule_id)

    _print_schedule(run_api_command(call_api, tenant=tenant), as_json)


@app.command(
    "create",
    epilog='Example: mcpist schedule create knowledge_graph search --params \'{"query": "Ada"}\' --title "New notes" '
    "--cron '30 9 * * MON-FRI' --time-zone Asia/Tokyo",
)
def create(
    title: Annotated[str, typer.Option("--title", metavar="TEXT", help="What it is for.")],
    module: Annotated[str, typer.Argument(metavar="[MODULE", help="The module's name.")] = "",
    tool: Annotated[str, typer.Argument(metavar="TOOL]", help="The tool's name.")] = "",
    params: Annotated[
        str,
        typer.Option("--params", metavar="JSON|@FILE|-", help="Its arguments: JSON, a file, or - for standard input."),
    ] = "{}",
    batch: Annotated[
        str | None,
        typer.Option(
            "--batch", metavar="JSON|@FILE|-", help="Instead of a tool: the steps of a batch, as a JSON array."
        ),
    ] = None,
    cron: Annotated[
        str, typer.Option("--cron", metavar="FIELDS", help="Five fields, such as '30 9 * * MON-FRI'.")
    ] = "",
    every: Annotated[
        int | None, typer.Option("--every", metavar="SECONDS", help="Instead: an interval, from 60.")
    ] = None,
    at: Annotated[str, typer.Option("--at", metavar="TIME", help="Instead: once, such as 2026-12-31T09:00.")] = "",
    time_zone: Annotated[
        str, typer.Option("--time-zone", metavar="ZONE", help="The IANA time zone, such as Asia/Tokyo.")
    ] = "UTC",
    overlap: Annotated[
        str,
        typer.Option("--overlap", metavar="skip|wait", help="What becomes of a run while the last one still works."),
    ] = "skip",
    notify: Annotated[
        str,
        typer.Option("--notify", metavar="never|failure|always", help="After which runs you get a mail."),
    ] = "never",
    idempotency_key: Annotated[
        str | None,
        typer.Option("--idempotency-key", metavar="KEY", help="The same one again makes no second schedule."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Make a schedule of your own, at a server where you are signed in. It runs once you have agreed in a browser."""
    wanted: dict[str, Any] = {
        "title": title,
        "module": module,
        "tool": tool,
        "params": read_object(params, "--params"),
        "commands": None if batch is None else _read_steps(batch),
        "cron": cron,
        "every_seconds": every,
        "at": at,
        "time_zone": time_zone,
        "overlap": overlap,
        "notify": notify,
    }

    def call_api(api: "AdminApiClient") -> "tuple[ScheduleEntry, bool]":
        from cli.client.schedules import create_schedule

        return create_schedule(api, wanted, idempotency_key)

    schedule, _ = run_api_command(call_api, needs_tenant=False)
    _print_schedule(schedule, as_json)


@app.command(
    "update",
    epilog="Example: mcpist schedule update 0b8e4f9c-5c1d-4f0e-9a53-2f6d1f6f7a10 --cron '0 8 * * *' --notify failure",
)
def update(
    schedule_id: ScheduleId,
    title: Annotated[str | None, typer.Option("--title", metavar="TEXT", help="What it is for.")] = None,
    cron: Annotated[
        str | None, typer.Option("--cron", metavar="FIELDS", help="Five fields, such as '30 9 * * MON-FRI'.")
    ] = None,
    every: Annotated[
        int | None, typer.Option("--every", metavar="SECONDS", help="Instead: an interval, from 60.")
    ] = None,
    at: Annotated[
        str | None, typer.Option("--at", metavar="TIME", help="Another time of a single run: 2026-12-31T09:00.")
    ] = None,
    time_zone: Annotated[
        str | None, typer.Option("--time-zone", metavar="ZONE", help="The IANA time zone, such as Asia/Tokyo.")
    ] = None,
    overlap: Annotated[
        str | None,
        typer.Option("--overlap", metavar="skip|wait", help="What becomes of a run while the last one still works."),
    ] = None,
    notify: Annotated[
        str | None,
        typer.Option("--notify", metavar="never|failure|always", help="After which runs you get a mail."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Change a schedule of your own, at a server where you are signed in. Another call needs a new schedule."""
    wanted = {
        "title": title,
        "cron": cron,
        "every_seconds": every,
        "at": at,
        "time_zone": time_zone,
        "overlap": overlap,
        "notify": notify,
    }
    changes = {name: value for name, value in wanted.items() if value is not None}
    if not changes:
        raise Invalid("say what to change, such as --title or --cron: see mcpist schedule update --help")

    def call_api(api: "AdminApiClient") -> "ScheduleEntry":
        from cli.client.schedules import change_schedule

        return change_schedule(api, schedule_id, changes)

    _print_schedule(run_api_command(call_api, needs_tenant=False), as_json)


@app.command("pause", epilog="Example: mcpist schedule pause 0b8e4f9c-5c1d-4f0e-9a53-2f6d1f6f7a10")
def pause(schedule_id: ScheduleId, tenant: TenantOption = None, as_json: JsonOption = False) -> None:
    """Let a schedule rest until `mcpist schedule resume`."""

    def call_api(api: "AdminApiClient") -> "ScheduleEntry":
        from cli.client.schedules import pause_schedule

        return pause_schedule(api, schedule_id)

    _print_schedule(run_api_command(call_api, tenant=tenant), as_json)


@app.command("resume", epilog="Example: mcpist schedule resume 0b8e4f9c-5c1d-4f0e-9a53-2f6d1f6f7a10")
def resume(schedule_id: ScheduleId, as_json: JsonOption = False) -> None:
    """Go on with a schedule of your own, at a server where you are signed in; what was due meanwhile is left out."""

    def call_api(api: "AdminApiClient") -> "ScheduleEntry":
        from cli.client.schedules import resume_schedule

        return resume_schedule(api, schedule_id)

    _print_schedule(run_api_command(call_api, needs_tenant=False), as_json)


@app.command("run", epilog="Example: mcpist schedule run 0b8e4f9c-5c1d-4f0e-9a53-2f6d1f6f7a10")
def run(schedule_id: ScheduleId, as_json: JsonOption = False) -> None:
    """Run a schedule of your own now, at a server where you are signed in; `mcpist job list` shows its job."""

    def call_api(api: "AdminApiClient") -> "ScheduleEntry":
        from cli.client.schedules import run_schedule

        return run_schedule(api, schedule_id)

    _print_schedule(run_api_command(call_api, needs_tenant=False), as_json)


@app.command("delete", epilog="Example: mcpist schedule delete 0b8e4f9c-5c1d-4f0e-9a53-2f6d1f6f7a10")
def delete(schedule_id: ScheduleId, tenant: TenantOption = None, as_json: JsonOption = False) -> None:
    """Delete a schedule; what it has run stays."""

    def call_api(api: "AdminApiClient") -> None:
        from cli.client.schedules import delete_schedule

        delete_schedule(api, schedule_id)

    run_api_command(call_api, tenant=tenant)
    print_result(as_json, {"id": schedule_id, "deleted": True}, lambda: print_line("The schedule is deleted."))


def _print_schedule(schedule: "ScheduleEntry", as_json: bool) -> None:
    from msgspec import to_builtins

    rows = [
        ("Id", schedule.id),
        ("User", schedule.user_email),
        ("Title", schedule.title),
        ("Work", _format_work(schedule)),
        ("When", _format_rule(schedule)),
        ("State", schedule.state),
        ("Agree at", schedule.consent_url),
        ("Overlap", schedule.overlap),
        ("Mail", schedule.notify),
        ("Next run", schedule.next_run_at),
        ("Last run", schedule.last_run_at),
        ("Last job", schedule.last_job_id),
        ("Skipped", schedule.skipped_runs),
        ("Permitted until", schedule.mandate_expires_at),
        ("Ended for", schedule.end_reason),
    ]
    print_result(as_json, to_builtins(schedule), lambda: print_table(("", ""), rows, empty=""))


def _read_steps(text: str) -> list[Any]:
    steps = read_json(text, "--batch")
    if not isinstance(steps, list):
        raise Invalid('--batch is an array of steps, such as [{"module": "github", "tool_name": "list_issues"}]')
    return steps  # pyright: ignore[reportUnknownVariableType]


def _format_work(schedule: "ScheduleEntry") -> str:
    return f"{schedule.module}.{schedule.tool}" if schedule.module else schedule.kind


def _format_rule(schedule: "ScheduleEntry") -> str:
    if schedule.cron:
        return f"{schedule.cron} ({schedule.time_zone})"
    return "once" if schedule.every_seconds is None else f"every {schedule.every_seconds} s"
