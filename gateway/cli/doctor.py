"""`mcpist doctor`: look at everything that can be wrong, and say what to do about it. It changes nothing."""

import asyncio
from typing import TYPE_CHECKING

import typer

from gateway.cli.failures import Stop
from gateway.cli.options import JsonOption
from gateway.cli.output import emit, say, table
from gateway.cli.session import either, load_settings, quiet_logs

if TYPE_CHECKING:
    from gateway.cli.remote.api import Api
    from gateway.single.finding import Finding

MARKS = {"ok": "ok", "note": "note", "bad": "BAD"}


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("doctor", epilog="Example: mcpist doctor --json")(doctor)


def doctor(as_json: JsonOption = False) -> None:
    """Look for everything that can be wrong.

    It checks data folder, keys, database, schema, clock, audit log, modules, port and accounts, and changes nothing. At
    a server, administrators are told of their tenant, and whoever operates it of all the rest. Exit code 1 if something
    is bad.
    """

    def here() -> "list[Finding]":
        from gateway.single.checkup import checkup

        settings = load_settings()
        quiet_logs(settings)
        return asyncio.run(checkup(settings))

    def at_server(api: "Api") -> "list[Finding]":
        from gateway.cli.remote.checks import findings

        return findings(api)

    found = either(here, at_server)
    healthy = all(finding.state != "bad" for finding in found)
    emit(as_json, {"healthy": healthy, "checks": found}, lambda: _print(found, healthy))
    if not healthy:
        raise Stop(1)


def _print(found: "list[Finding]", healthy: bool) -> None:
    rows = [(MARKS[finding.state], finding.check, finding.told) for finding in found]
    table(("", "Check", "Found"), rows, empty="")
    say("\nAll is well." if healthy else "\nSomething is bad: the lines above say what to do.")
