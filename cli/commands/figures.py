"""`mcpist figures`: calls, errors, denials, durations and people over time."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.options import JsonOption, TenantOption
from cli.output import print_line, print_result, print_table
from cli.runner import run_api_command

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cli.client.admin_api import AdminApiClient

COLUMNS = ("Calls", "Errors", "Denied", "People", "Median ms", "95 % below ms")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("figures", epilog="Example: mcpist figures --days 30")(figures)


def figures(
    days: Annotated[int, typer.Option("--days", min=1, max=400, help="How far back.")] = 1,
    tenant: TenantOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show calls, errors, denials, durations and active people of a tenant: by hour for one day, else by day."""
    interval = "hour" if days == 1 else "day"

    def call_api(api: "AdminApiClient") -> "dict[str, Any]":
        from cli.client.figures import fetch_figures

        return fetch_figures(api, days, interval)

    found = run_api_command(call_api, tenant=tenant)

    def print_text() -> None:
        rows = [
            (point["start"], *_list_figures(point)) for point in found["points"] if point["calls"] or point["denied"]
        ]
        print_table(("Since (UTC)", *COLUMNS), rows, empty="Nobody has called anything.")
        services = [(service["module"] or "(no service)", *_list_figures(service)) for service in found["services"]]
        if services:
            print_line("")
            print_table(("Service", *COLUMNS), services, empty="")

    print_result(as_json, found, print_text)


def _list_figures(item: "Mapping[str, Any]") -> tuple[Any, ...]:
    return tuple(item[name] for name in ("calls", "errors", "denied", "people", "median_ms", "p95_ms"))
