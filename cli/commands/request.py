"""`mcpist request`: what people ask for, and what becomes of it."""

from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from cli.options import JsonOption, TenantOption, create_group
from cli.output import print_line, print_result, print_table
from cli.runner import run_api_command

if TYPE_CHECKING:
    from cli.client.access_requests import AccessRequestEntry
    from cli.client.admin_api import AdminApiClient

app = create_group("Requests of people for tools that they may not use.")

RequestId = Annotated[str, typer.Argument(metavar="ID", help="The request's id, as `mcpist request list` shows it.")]


@app.command("list", epilog="Example: mcpist request list --all")
def list_(
    every: Annotated[bool, typer.Option("--all", help="Decided ones, too.")] = False,
    tenant: TenantOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the open requests of the tenant, newest first."""

    def call_api(api: "AdminApiClient") -> "list[AccessRequestEntry]":
        from cli.client.access_requests import fetch_requests

        return fetch_requests(api, None if every else "open")

    requests = run_api_command(call_api, tenant=tenant)
    columns = ("Id", "User", "Asks for", "Message", "State", "Since", "By", "Role", "Reason")
    rows = [
        (
            request.id,
            request.email,
            f"{request.module}.{request.tool or '*'}",
            request.message,
            request.state,
            request.created_at,
            request.decided_by,
            request.role,
            request.reason,
        )
        for request in requests
    ]
    print_result(as_json, requests, lambda: print_table(columns, rows, empty="Nobody asks for anything."))


@app.command("add", epilog='Example: mcpist request add github search_issues --message "for the weekly report"')
def add(
    module: Annotated[str, typer.Argument(metavar="MODULE", help="The module's name.")],
    tool: Annotated[str, typer.Argument(metavar="[TOOL]", help="The tool's name; all of the module without it.")] = "",
    message: Annotated[str, typer.Option("--message", help="What it is needed for.")] = "",
    as_json: JsonOption = False,
) -> None:
    """Ask for a tool that you may not use, at a server where you are signed in."""

    def call_api(api: "AdminApiClient") -> "AccessRequestEntry":
        from cli.client.access_requests import add_request

        return add_request(api, module, tool, message)

    request = run_api_command(call_api, needs_tenant=False)
    print_result(as_json, request, lambda: print_line(f"Asked; the request is {request.id}."))


@app.command("withdraw", epilog="Example: mcpist request withdraw 0b8e4f9c-5c1d-4f0e-9a53-2f6d1f6f7a10")
def withdraw(
    request_id: Annotated[UUID, typer.Argument(metavar="ID", help="The request's id, as `mcpist request add` says.")],
    as_json: JsonOption = False,
) -> None:
    """Take back an open request of your own, at a server where you are signed in."""

    def call_api(api: "AdminApiClient") -> None:
        from cli.client.access_requests import withdraw_request

        withdraw_request(api, request_id)

    run_api_command(call_api, needs_tenant=False)
    print_result(as_json, {"id": request_id, "withdrawn": True}, lambda: print_line("The request is withdrawn."))


@app.command("approve", epilog="Example: mcpist request approve 0b8e4f9c-5c1d-4f0e-9a53-2f6d1f6f7a10 --role reader")
def approve(
    request_id: RequestId,
    role: Annotated[str, typer.Option("--role", metavar="ROLE", help="The role that the person gets.")],
    allow: Annotated[
        bool, typer.Option("--allow", help="Allow the role what is asked for, for all who have it, if it is not yet.")
    ] = False,
    tenant: TenantOption = None,
    as_json: JsonOption = False,
) -> None:
    """Give the person who asks a role that permits what they ask for."""

    def call_api(api: "AdminApiClient") -> "AccessRequestEntry":
        from cli.client.access_requests import approve_request

        return approve_request(api, request_id, role, allow=allow)

    request = run_api_command(call_api, tenant=tenant)
    print_result(as_json, request, lambda: print_line(f"{request.email} has the role {request.role}."))


@app.command(
    "decline", epilog='Example: mcpist request decline 0b8e4f9c-5c1d-4f0e-9a53-2f6d1f6f7a10 --reason "ask Ann"'
)
def decline(
    request_id: RequestId,
    reason: Annotated[str, typer.Option("--reason", help="Why; the person reads it.")] = "",
    tenant: TenantOption = None,
    as_json: JsonOption = False,
) -> None:
    """Decline a request."""

    def call_api(api: "AdminApiClient") -> "AccessRequestEntry":
        from cli.client.access_requests import decline_request

        return decline_request(api, request_id, reason)

    request = run_api_command(call_api, tenant=tenant)
    print_result(as_json, request, lambda: print_line(f"Declined the request of {request.email}."))


@app.command("reopen", epilog="Example: mcpist request reopen 0b8e4f9c-5c1d-4f0e-9a53-2f6d1f6f7a10")
def reopen(request_id: RequestId, tenant: TenantOption = None, as_json: JsonOption = False) -> None:
    """Take back the decision about a request: it is open again. A role that the person got stays."""

    def call_api(api: "AdminApiClient") -> "AccessRequestEntry":
        from cli.client.access_requests import reopen_request

        return reopen_request(api, request_id)

    request = run_api_command(call_api, tenant=tenant)
    print_result(as_json, request, lambda: print_line(f"The request of {request.email} is open again."))
