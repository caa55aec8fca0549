"""`mcpist audit export`: the audit log of a tenant in a file."""

import os
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.options import JsonOption, TenantOption
from cli.output import print_line, print_result
from cli.runner import run_api_command
from core.errors import Conflict

if TYPE_CHECKING:
    from cli.client.admin_api import AdminApiClient


Text = str | None


class AuditFileForm(StrEnum):
    """Forms of an export of the audit log."""

    CSV = "csv"
    JSONL = "jsonl"


def export(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to.")],
    form: Annotated[AuditFileForm, typer.Option("--form", help="For spreadsheets, or one JSON object a line.")] = (
        AuditFileForm.CSV
    ),
    since: Annotated[Text, typer.Option("--since", metavar="WHEN", help="From then on: 1h, 7d or a date.")] = None,
    until: Annotated[Text, typer.Option("--until", metavar="WHEN", help="Before then.")] = None,
    user: Annotated[Text, typer.Option("--user", metavar="EMAIL", help="Only this person's.")] = None,
    kind: Annotated[Text, typer.Option("--kind", help="call, call.denied, token, role.created …")] = None,
    module: Annotated[Text, typer.Option("--module", help="Only this module's calls.")] = None,
    tool: Annotated[Text, typer.Option("--tool", help="Only this tool's calls.")] = None,
    outcome: Annotated[Text, typer.Option("--outcome", help="ok, error, denied, cancelled, timeout, unknown …")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False,
    tenant: TenantOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write the audit log of a tenant into a file, newest first. The export is recorded in the log itself."""
    if file.exists() and not force:
        raise Conflict(f"{file} exists already; choose another name, or add --force to replace it")

    def call_api(api: "AdminApiClient") -> None:
        from cli.client.audit_log import download_audit
        from cli.time_arguments import parse_past_time
        from core.audit.query import AuditFilter
        from server.role_database import get_utc_now

        begin, end = parse_past_time(since, get_utc_now()), parse_past_time(until, get_utc_now())
        filter = AuditFilter(since=begin, until=end, kind=kind, module=module, tool=tool, outcome=outcome)
        part = file.with_name(f"{file.name}.part")
        try:
            # Arguments of calls may be in it: nobody else on this machine reads it.
            with open(part, "wb", opener=lambda path, flags: os.open(path, flags, 0o600)) as target:
                download_audit(api, filter, user, form.value, target)
            part.replace(file)
        finally:
            part.unlink(missing_ok=True)

    run_api_command(call_api, tenant=tenant)
    size = file.stat().st_size
    document = {"file": file.absolute().as_posix(), "form": form.value, "bytes": size}
    print_result(as_json, document, lambda: print_line(f"Wrote {file} ({size:,} bytes)."))
