"""`mcpist doctor`: look at everything that can be wrong, and say what to do about it. It changes nothing."""

import asyncio
from typing import TYPE_CHECKING

import typer

from cli.failures import CommandExit
from cli.options import JsonOption
from cli.output import print_line, print_result, print_table
from cli.runner import load_settings, quiet_logs, run_local_or_remote

if TYPE_CHECKING:
    from cli.client.admin_api import AdminApiClient
    from server.diagnostics.finding import Finding

STATE_MARKS = {"ok": "ok", "warning": "WARNING", "error": "ERROR"}


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("doctor", epilog="Example: mcpist doctor --json")(doctor)


def doctor(as_json: JsonOption = False) -> None:
    """Look for everything that can be wrong.

    It checks data folder, keys, database, schema, clock, audit log, modules, port and accounts, and changes nothing. At
    a server, administrators see their tenant, and the operator everything. Exit code 1 if one of the checks fails.
    """

    def run_here() -> "list[Finding]":
        from server.diagnostics.deployment_checks import diagnose

        settings = load_settings()
        quiet_logs(settings)
        return asyncio.run(diagnose(settings))

    def call_api(api: "AdminApiClient") -> "list[Finding]":
        from cli.client.diagnostics import fetch_findings

        return fetch_findings(api)

    findings = run_local_or_remote(run_here, call_api)
    healthy = all(finding.state != "error" for finding in findings)
    print_result(as_json, {"healthy": healthy, "checks": findings}, lambda: _print_findings(findings, healthy))
    if not healthy:
        raise CommandExit(1)


def _print_findings(findings: "list[Finding]", healthy: bool) -> None:
    rows = [(STATE_MARKS[finding.state], finding.check, finding.message) for finding in findings]
    print_table(("", "Check", "Found"), rows, empty="")
    print_line("\nAll is well." if healthy else "\nThere are errors: the lines above say what to do.")
