"""`mcpist tenant`: the companies that share this deployment."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from cli.options import JsonOption, create_group
from cli.output import print_line, print_result, print_table
from cli.revocation_output import print_remaining_accounts
from cli.runner import read_settings, run_api_command

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cli.client.admin_api import AdminApiClient
    from core.directory.account_revocation import RevocationResult
    from core.directory.tenants import Tenant

app = create_group("Companies that share this deployment.")

Slug = Annotated[str, typer.Argument(metavar="SLUG", help="The tenant's short name.")]


class OnOff(StrEnum):
    """On or off."""

    ON = "on"
    OFF = "off"


Switch = Annotated[OnOff, typer.Argument(help="on or off")]
NamedTenant = Annotated[str | None, typer.Option("--tenant", metavar="SLUG", help="The tenant.")]


@app.command("create", epilog="Example: mcpist tenant create acme --admin ada@acme.example")
def create(
    slug: Slug,
    admin: Annotated[str, typer.Option("--admin", metavar="EMAIL", help="The first administrator.")],
    name: Annotated[str, typer.Option("--name", help="The full name; the slug if none is given.")] = "",
    as_json: JsonOption = False,
) -> None:
    """Make a tenant with its first administrator, who may use every module."""

    def call_api(api: "AdminApiClient") -> "tuple[Tenant, str]":
        from cli.client.tenants import create_tenant
        from core.directory.users import normalize_email

        email = normalize_email(admin)
        return create_tenant(api, slug, name, email), email

    created, email = run_api_command(call_api, needs_tenant=False)

    def print_text() -> None:
        print_line(f"Made tenant {created.slug} with administrator {email}.")
        print_line(f"A token for them: mcpist token create --tenant {created.slug} --user {email}")

    print_result(as_json, {"id": created.id, "slug": created.slug, "name": created.name, "admin": email}, print_text)


@app.command("list", epilog="Example: mcpist tenant list --json")
def list_(as_json: JsonOption = False) -> None:
    """Show all tenants."""

    def call_api(api: "AdminApiClient") -> "list[Tenant]":
        from cli.client.tenants import fetch_tenants

        return fetch_tenants(api)

    tenants = run_api_command(call_api, needs_tenant=False)
    rows = [(tenant.slug, tenant.name, tenant.status, tenant.record_arguments) for tenant in tenants]
    columns = ("Slug", "Name", "Status", "Records arguments")
    print_result(
        as_json, tenants, lambda: print_table(columns, rows, empty="No tenant yet: `mcpist up` makes the first one.")
    )


@app.command("suspend", epilog="Example: mcpist tenant suspend acme")
def suspend(slug: Slug, as_json: JsonOption = False) -> None:
    """Shut a tenant out: all its people lose access within a second."""
    _set_status(slug, "suspended", as_json)


@app.command("resume", epilog="Example: mcpist tenant resume acme")
def resume(slug: Slug, as_json: JsonOption = False) -> None:
    """Let a suspended tenant in again."""
    _set_status(slug, "active", as_json)


@app.command("contents", epilog="Example: mcpist tenant contents acme")
def contents(slug: Slug, as_json: JsonOption = False) -> None:
    """Count what ends when a tenant is removed."""

    def call_api(api: "AdminApiClient") -> "Mapping[str, int]":
        from cli.client.tenants import count_contents

        return count_contents(api, slug)

    counts = run_api_command(call_api, needs_tenant=False)
    rows = [(kind.replace("_", " "), count) for kind, count in counts.items()]
    print_result(as_json, counts, lambda: print_table(("What ends", "Count"), rows, empty=""))


@app.command("remove", epilog="Example: mcpist tenant remove acme --confirm acme")
def remove(
    slug: Slug,
    confirm: Annotated[
        str, typer.Option("--confirm", metavar="SLUG", help="The slug once more.", prompt="The slug once more")
    ],
    as_json: JsonOption = False,
) -> None:
    """Delete a tenant with all that is its people's; only the audit log stays. Their access ends within a second."""

    def call_api(api: "AdminApiClient") -> "Sequence[RevocationResult]":
        from cli.client.tenants import remove_tenant

        return remove_tenant(api, slug, confirm)

    print_remaining_accounts(run_api_command(call_api, needs_tenant=False))
    print_result(as_json, {"slug": slug, "removed": True}, lambda: print_line(f"Removed the tenant {slug}."))


@app.command("record-arguments", epilog="Example: mcpist tenant record-arguments on --tenant acme")
def record_arguments(switch: Switch, tenant: NamedTenant = None, as_json: JsonOption = False) -> None:
    """Keep the arguments of calls in the audit log, or only a keyed digest of them (the default)."""
    _set_switch("record_arguments", "Recording of arguments", switch, tenant, as_json)


@app.command("show-hidden-tools", epilog="Example: mcpist tenant show-hidden-tools off --tenant acme")
def show_hidden_tools(switch: Switch, tenant: NamedTenant = None, as_json: JsonOption = False) -> None:
    """Tell people in the console which tools there are that they may not use (the default), or not.

    Models never learn of them.
    """
    _set_switch("shows_hidden_tools", "Showing of hidden tools", switch, tenant, as_json)


@app.command("access-requests", epilog="Example: mcpist tenant access-requests off --tenant acme")
def access_requests(switch: Switch, tenant: NamedTenant = None, as_json: JsonOption = False) -> None:
    """Let people ask for tools that they may not use (the default), or not; see `mcpist request`."""
    _set_switch("accepts_access_requests", "Requesting of access", switch, tenant, as_json)


@app.command("change", epilog="Example: mcpist tenant change --name 'Acme Ltd' --tenant acme")
def change(
    name: Annotated[str | None, typer.Option("--name", help="The new full name.")] = None,
    max_token_lifetime: Annotated[
        str | None,
        typer.Option("--max-token-lifetime", metavar="DAYS", help="How long new API tokens may live: days, or none."),
    ] = None,
    tenant: NamedTenant = None,
    as_json: JsonOption = False,
) -> None:
    """Change a tenant's name, or how long new API tokens may live. What is not named stays."""
    changes: dict[str, str | int | None] = {} if name is None else {"name": name}
    if max_token_lifetime is not None:
        changes["max_token_lifetime_days"] = _parse_lifetime(max_token_lifetime)
    if not changes:
        raise typer.BadParameter("say what is to change: --name, --max-token-lifetime")

    def call_api(api: "AdminApiClient") -> str:
        from cli.client.tenants import change_tenant

        return change_tenant(api, tenant, read_settings().tenant, changes)

    slug = run_api_command(call_api, needs_tenant=False)
    print_result(as_json, {"slug": slug, **changes}, lambda: print_line(f"Changed {slug}."))


def _parse_lifetime(text: str) -> int | None:
    if text == "none":
        return None
    if not (text.isascii() and text.isdecimal() and len(text) < 6):
        raise typer.BadParameter("--max-token-lifetime takes a number of days, or none")
    return int(text)


def _set_switch(name: str, title: str, switch: OnOff, tenant: str | None, as_json: bool) -> None:
    def call_api(api: "AdminApiClient") -> str:
        from cli.client.tenants import change_tenant

        return change_tenant(api, tenant, read_settings().tenant, {name: switch is OnOff.ON})

    slug = run_api_command(call_api, needs_tenant=False)
    document = {"slug": slug, name: switch is OnOff.ON}
    print_result(as_json, document, lambda: print_line(f"{title} is {switch.value} for {slug}."))


def _set_status(slug: str, status: str, as_json: bool) -> None:
    def call_api(api: "AdminApiClient") -> None:
        from cli.client.tenants import set_status

        set_status(api, slug, status)

    run_api_command(call_api, needs_tenant=False)
    print_result(as_json, {"slug": slug, "status": status}, lambda: print_line(f"{slug} is {status}."))
