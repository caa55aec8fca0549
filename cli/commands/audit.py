"""`mcpist audit`: what happened, and whether the log is whole."""

from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer

from cli.failures import CommandExit
from cli.options import JsonOption, TenantOption
from cli.output import escape_control_characters, print_line, print_note, print_result, print_table
from cli.runner import run_api_command, run_on_data_folder

if TYPE_CHECKING:
    from pathlib import Path

    from cli.client.admin_api import AdminApiClient
    from core.audit.query import AuditEntry, AuditPage, ChainVerification
    from core.directory.tenants import Tenant
    from server.operator_context import OperatorContext

app = typer.Typer(
    help="What happened, who did it, and whether the log is whole.",
    invoke_without_command=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    epilog="Example: mcpist audit --since 1h --outcome denied",
)

Text = str | None


@app.callback()
def show(
    context: typer.Context,
    since: Annotated[Text, typer.Option("--since", metavar="WHEN", help="From then on: 1h, 7d or a date.")] = None,
    until: Annotated[Text, typer.Option("--until", metavar="WHEN", help="Before then.")] = None,
    user: Annotated[Text, typer.Option("--user", metavar="EMAIL", help="Only this person's.")] = None,
    kind: Annotated[Text, typer.Option("--kind", help="call, call.denied, token, role.created …")] = None,
    module: Annotated[Text, typer.Option("--module", help="Only this module's calls.")] = None,
    tool: Annotated[Text, typer.Option("--tool", help="Only this tool's calls.")] = None,
    outcome: Annotated[Text, typer.Option("--outcome", help="ok, error, denied, cancelled, timeout, unknown …")] = None,
    limit: Annotated[int, typer.Option("--limit", help="At most so many, 1 to 500.")] = 50,
    cursor: Annotated[Text, typer.Option("--cursor", help="Go on where an earlier answer ended.")] = None,
    tenant: TenantOption = None,
    deployment: Annotated[
        bool, typer.Option("--deployment", help="What belongs to no tenant: keys, removed tenants, strangers.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Show what happened in a tenant, newest first."""
    if context.invoked_subcommand is not None:
        return
    if deployment and (tenant or user):
        raise typer.BadParameter("--deployment goes without --tenant and --user")

    def call_api(api: "AdminApiClient") -> "tuple[AuditPage, dict[UUID, str]]":
        from cli.client.audit_log import fetch_deployment_audit, fetch_tenant_audit
        from cli.time_arguments import parse_past_time
        from core.audit.query import AuditFilter
        from server.role_database import get_utc_now

        begin, end = parse_past_time(since, get_utc_now()), parse_past_time(until, get_utc_now())
        asked = AuditFilter(since=begin, until=end, kind=kind, module=module, tool=tool, outcome=outcome)
        if deployment:
            return fetch_deployment_audit(api, asked, cursor, limit)
        return fetch_tenant_audit(api, asked, user, cursor, limit)

    shown, emails = run_api_command(call_api, tenant=tenant, needs_tenant=not deployment)

    def print_text() -> None:
        columns = ("Time", "Who", "What", "Tool", "Outcome", "Took", "Details")
        print_table(columns, [_build_row(item, emails) for item in shown.items], empty="Nothing.")
        if shown.next_cursor:
            print_note(f"There is more: add --cursor {shown.next_cursor}")

    items = [_build_document(item, emails) for item in shown.items]
    print_result(as_json, {"items": items, "next_cursor": shown.next_cursor}, print_text)


@app.command("verify", epilog="Example: mcpist audit verify --anchors anchors.json")
def verify(
    anchors: Annotated[
        Text,
        typer.Option(
            "--anchors", metavar="FILE", help="What `mcpist audit anchors --json` gave earlier, kept elsewhere."
        ),
    ] = None,
    tenant: TenantOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check the chain of the log: nothing was changed, removed or put in. Exit code 1 if something was."""
    from pathlib import Path

    async def work(operating: "OperatorContext") -> "list[tuple[str, ChainVerification]]":
        from core.audit.query import verify_chain
        from core.audit.sealer import seal_pending_events
        from server.role_database import get_utc_now

        known = _read_anchors(Path(anchors)) if anchors else []
        await seal_pending_events(operating.console, get_utc_now)
        chains = await _list_chains(operating, tenant)
        return [(slug, await verify_chain(operating.console, chain, against=known)) for slug, chain in chains]

    found = run_on_data_folder(work)
    document = [
        {
            "tenant": slug,
            "ok": one.ok,
            "checked": one.checked,
            "head": one.head and {"seq": one.head.seq, "hash": one.head.hash},
            "first_bad": one.first_bad,
            "problem": one.problem,
        }
        for slug, one in found
    ]
    columns = ("Tenant", "Whole", "Checked", "Newest", "What is wrong")
    rows = [(slug, one.ok, one.checked, one.head.seq if one.head else 0, _describe_break(one)) for slug, one in found]
    print_result(as_json, document, lambda: print_table(columns, rows, empty="No tenant yet."))
    if not all(one.ok for _, one in found):
        raise CommandExit(1)


@app.command("anchors", epilog="Example: mcpist audit anchors --json > /media/elsewhere/anchors.json")
def anchors(as_json: JsonOption = False) -> None:
    """Show the newest hash of every chain. Kept where nobody can change it, it proves the log later."""

    async def work(operating: "OperatorContext") -> list[tuple[str, UUID, int, bytes]]:
        from core.audit.query import list_anchors
        from core.audit.sealer import seal_pending_events
        from server.role_database import get_utc_now

        await seal_pending_events(operating.console, get_utc_now)
        slugs = {chain: slug for slug, chain in await _list_chains(operating, None)}
        found = await list_anchors(operating.console)
        return [(slugs.get(one.tenant_id, str(one.tenant_id)), one.tenant_id, one.seq, one.hash) for one in found]

    found = run_on_data_folder(work)
    document = [{"tenant": slug, "tenant_id": id, "seq": seq, "hash": hash} for slug, id, seq, hash in found]
    rows = [(slug, seq, hash.hex()) for slug, _, seq, hash in found]
    print_result(
        as_json, document, lambda: print_table(("Tenant", "Newest", "Hash"), rows, empty="Nothing is recorded yet.")
    )


@app.command("drop", epilog="Example: mcpist audit drop --keep-months 24")
def drop(
    keep_months: Annotated[
        int, typer.Option("--keep-months", metavar="N", help="Whole months to keep before this one, 1 to 1200.")
    ],
    as_json: JsonOption = False,
) -> None:
    """Delete the oldest months of the log, of all tenants, for good. The chains stay verifiable."""

    async def work(operating: "OperatorContext") -> list[str]:
        from core.audit.retention import drop_old_partitions
        from core.db import Database

        administrator = Database(operating.deployment.admin, most_connections=1)
        await administrator.open()
        try:
            return await drop_old_partitions(administrator, keep_months)
        finally:
            await administrator.close()

    dropped = [name.removeprefix("events_").replace("_", "-") for name in run_on_data_folder(work)]
    print_result(
        as_json,
        {"dropped_months": dropped},
        lambda: print_line(f"Deleted {', '.join(dropped)}." if dropped else "Nothing is older."),
    )


async def _list_chains(operating: "OperatorContext", slug: str | None) -> list[tuple[str, UUID]]:
    from core.audit.event import DEPLOYMENT_CHAIN
    from core.directory.tenants import find_tenant, list_tenants

    if slug is not None:
        return [(slug, (await find_tenant(operating.console, slug)).id)]
    tenants: list[Tenant] = await list_tenants(operating.console)
    return [*((one.slug, one.id) for one in tenants), ("(deployment)", DEPLOYMENT_CHAIN)]


def _read_anchors(path: "Path") -> list[Any]:
    import json

    from core.audit.query import ChainAnchor
    from core.errors import Invalid

    try:
        found: Any = json.loads(path.read_text())
        return [ChainAnchor(UUID(one["tenant_id"]), int(one["seq"]), bytes.fromhex(one["hash"])) for one in found]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Invalid(f"{path} is not what `mcpist audit anchors --json` gives ({type(error).__name__})") from None


def _describe_break(found: "ChainVerification") -> str:
    return "" if found.ok else f"event {found.first_bad}: {found.problem}"


def _build_row(item: "AuditEntry", emails: dict[UUID, str]) -> tuple[Any, ...]:
    tool = f"{item.module}.{item.tool}" if item.tool else item.module
    took = "" if item.duration_us is None else f"{item.duration_us / 1000:.1f} ms"
    details = [f"{name}={value}" for name, value in item.detail.items()]
    if item.arguments is not None:
        details.append(escape_control_characters(item.arguments.decode("utf-8", "replace"))[:200])
    return item.at, _format_actor(item, emails), item.kind, tool, item.outcome, took, ", ".join(details)


def _format_actor(item: "AuditEntry", emails: dict[UUID, str]) -> str:
    if item.user_id is None:
        return item.actor
    return emails.get(item.user_id, str(item.user_id))


def _build_document(item: "AuditEntry", emails: dict[UUID, str]) -> dict[str, Any]:
    return {
        "seq": item.seq,
        "occurred_at": item.at,
        "kind": item.kind,
        "user": emails.get(item.user_id) if item.user_id else None,
        "user_id": item.user_id,
        "actor": item.actor,
        "credential_id": item.credential_id,
        "client": item.client,
        "request_id": item.request_id,
        "module": item.module,
        "tool": item.tool,
        "outcome": item.outcome,
        "duration_us": item.duration_us,
        "arguments_digest": item.digest,
        "arguments": None if item.arguments is None else item.arguments.decode("utf-8", "replace"),
        "detail": item.detail,
    }
