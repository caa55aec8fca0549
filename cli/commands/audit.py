"""`mcpist audit`: what happened, and whether the log is whole."""

from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer

from cli.commands import audit_export, audit_retention, audit_stream
from cli.failures import CommandExit
from cli.options import JsonOption, TenantOption
from cli.output import escape_control_characters, print_note, print_result, print_table
from cli.runner import run_api_command, run_local_or_remote, run_on_data_folder
from core.errors import Invalid

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

app.add_typer(audit_stream.app, name="stream")
app.command("export", epilog="Example: mcpist audit export october.csv --since 2026-10-01 --until 2026-11-01")(
    audit_export.export
)
app.add_typer(audit_retention.app, name="retention")
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
    oldest_first: Annotated[bool, typer.Option("--oldest-first", help="Oldest first instead of newest first.")] = False,
    limit: Annotated[int, typer.Option("--limit", help="At most so many, 1 to 500.")] = 50,
    cursor: Annotated[Text, typer.Option("--cursor", help="Go on where an earlier answer ended.")] = None,
    tenant: TenantOption = None,
    deployment: Annotated[
        bool, typer.Option("--deployment", help="What belongs to no tenant: keys, removed tenants, strangers.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Show what happened in a tenant, newest first unless --oldest-first."""
    if context.invoked_subcommand is not None:
        return
    if deployment and (tenant or user):
        raise typer.BadParameter("--deployment goes without --tenant and --user")

    def call_api(api: "AdminApiClient") -> "tuple[AuditPage, dict[UUID, str]]":
        from cli.client.audit_log import AuditRange, fetch_deployment_audit, fetch_tenant_audit
        from cli.time_arguments import parse_past_time
        from core.audit.query import AuditFilter
        from server.role_database import get_utc_now

        begin, end = parse_past_time(since, get_utc_now()), parse_past_time(until, get_utc_now())
        filter = AuditFilter(since=begin, until=end, kind=kind, module=module, tool=tool, outcome=outcome)
        range = AuditRange(cursor, limit, oldest_first)
        if deployment:
            return fetch_deployment_audit(api, filter, range)
        return fetch_tenant_audit(api, filter, user, range)

    page, emails = run_api_command(call_api, tenant=tenant, needs_tenant=not deployment)

    def print_text() -> None:
        columns = ("Time", "Who", "What", "Tool", "Outcome", "Took", "Details")
        print_table(columns, [_build_row(item, emails) for item in page.items], empty="Nothing.")
        if page.next_cursor:
            print_note(f"There is more: add --cursor {page.next_cursor}")

    items = [_build_document(item, emails) for item in page.items]
    print_result(as_json, {"items": items, "next_cursor": page.next_cursor}, print_text)


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
    """Check the chain of the log: nothing was changed, removed or put in. Exit code 1 if something was.

    At a server it is your tenant's, and what the server says of its own log: a sign and no proof.
    """
    from pathlib import Path

    async def work(context: "OperatorContext") -> "list[tuple[str, ChainVerification]]":
        from core.audit.query import verify_chain
        from core.audit.sealer import seal_pending_events
        from server.role_database import get_utc_now

        expected = _read_anchors(Path(anchors)) if anchors else []
        await seal_pending_events(context.console, get_utc_now)
        chains = await _list_chains(context, tenant)
        return [(slug, await verify_chain(context.console, chain, against=expected)) for slug, chain in chains]

    def call_api(api: "AdminApiClient") -> "list[tuple[str, ChainVerification]]":
        from cli.client.audit_log import verify_audit
        from cli.client.me import fetch_profile

        if anchors is not None:
            raise Invalid("a server does not compare with anchors of elsewhere: run this where its data folder is")
        return [(fetch_profile(api).tenant.slug, verify_audit(api))]

    results = run_local_or_remote(lambda: run_on_data_folder(work), call_api, tenant=tenant)
    document = [
        {
            "tenant": slug,
            "ok": result.ok,
            "checked": result.checked,
            "head": result.head and {"seq": result.head.seq, "hash": result.head.hash},
            "first_bad": result.first_bad,
            "problem": result.problem,
        }
        for slug, result in results
    ]
    columns = ("Tenant", "Whole", "Checked", "Newest", "What is wrong")
    rows = [
        (slug, result.ok, result.checked, result.head.seq if result.head else 0, _describe_break(result))
        for slug, result in results
    ]
    print_result(as_json, document, lambda: print_table(columns, rows, empty="No tenant yet."))
    if not all(result.ok for _, result in results):
        raise CommandExit(1)


@app.command("anchors", epilog="Example: mcpist audit anchors --json > /media/elsewhere/anchors.json")
def anchors(as_json: JsonOption = False) -> None:
    """Show the newest hash of every chain. Kept in a safe place, it proves the log later."""

    async def work(context: "OperatorContext") -> list[tuple[str, UUID, int, bytes]]:
        from core.audit.query import list_anchors
        from core.audit.sealer import seal_pending_events
        from server.role_database import get_utc_now

        await seal_pending_events(context.console, get_utc_now)
        slugs = {chain: slug for slug, chain in await _list_chains(context, None)}
        chains = await list_anchors(context.console)
        return [
            (slugs.get(anchor.tenant_id, str(anchor.tenant_id)), anchor.tenant_id, anchor.seq, anchor.hash)
            for anchor in chains
        ]

    chains = run_on_data_folder(work)
    document = [{"tenant": slug, "tenant_id": id, "seq": seq, "hash": hash} for slug, id, seq, hash in chains]
    rows = [(slug, seq, hash.hex()) for slug, _, seq, hash in chains]
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

    async def work(context: "OperatorContext") -> list[str]:
        from core.audit.retention import drop_old_partitions
        from core.db import Database
        from server.role_database import get_utc_now

        administrator = Database(context.deployment.admin, max_connections=1)
        await administrator.open()
        try:
            return await drop_old_partitions(administrator, keep_months, get_utc_now())
        finally:
            await administrator.close()

    audit_retention.print_dropped_months(run_on_data_folder(work), as_json)


async def _list_chains(context: "OperatorContext", slug: str | None) -> list[tuple[str, UUID]]:
    from core.audit.event import DEPLOYMENT_CHAIN
    from core.directory.tenants import find_tenant, list_tenants

    if slug is not None:
        return [(slug, (await find_tenant(context.console, slug)).id)]
    tenants: list[Tenant] = await list_tenants(context.console)
    return [*((tenant.slug, tenant.id) for tenant in tenants), ("(deployment)", DEPLOYMENT_CHAIN)]


def _read_anchors(path: "Path") -> list[Any]:
    import json

    from core.audit.query import ChainAnchor

    try:
        documents: Any = json.loads(path.read_text())
        return [
            ChainAnchor(UUID(document["tenant_id"]), int(document["seq"]), bytes.fromhex(document["hash"]))
            for document in documents
        ]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Invalid(f"{path} is not what `mcpist audit anchors --json` gives ({type(error).__name__})") from None


def _describe_break(verification: "ChainVerification") -> str:
    return "" if verification.ok else f"event {verification.first_bad}: {verification.problem}"


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
