"""`mcpist tenant`: the companies that share this deployment."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from gateway.cli.goodbyes import tell
from gateway.cli.options import JsonOption, group
from gateway.cli.output import emit, say, table
from gateway.cli.session import administer, read_settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.directory.farewell import Goodbye
    from core.directory.tenants import Tenant
    from gateway.cli.remote.api import Api
    from gateway.single.operator import Operator

app = group("Companies that share this deployment.")

Slug = Annotated[str, typer.Argument(metavar="SLUG", help="The tenant's short name.")]


class Switch(StrEnum):
    """On or off."""

    ON = "on"
    OFF = "off"


@app.command("create", epilog="Example: mcpist tenant create acme --admin ada@acme.example")
def create(
    slug: Slug,
    admin: Annotated[str, typer.Option("--admin", metavar="EMAIL", help="The first administrator.")],
    name: Annotated[str, typer.Option("--name", help="The full name; the slug if none is given.")] = "",
    as_json: JsonOption = False,
) -> None:
    """Make a tenant with its first administrator, who may use every module."""

    async def work(operating: "Operator") -> "tuple[Tenant, str]":
        from core.directory.founding import found_tenant
        from core.directory.users import checked_email
        from gateway.single.bootstrap import OPERATOR, modules_of

        email, modules = checked_email(admin), modules_of(operating.catalogue)
        return await found_tenant(operating.console, OPERATOR, slug, name, email, modules), email

    def at_server(api: "Api") -> "tuple[Tenant, str]":
        from core.directory.users import checked_email
        from gateway.cli.remote.tenants import create_tenant

        email = checked_email(admin)
        return create_tenant(api, slug, name, email), email

    made, email = administer(work, at_server)

    def human() -> None:
        say(f"Made tenant {made.slug} with administrator {email}.")
        say(f"A token for them: mcpist token create --tenant {made.slug} --user {email}")

    emit(as_json, {"id": made.id, "slug": made.slug, "name": made.name, "admin": email}, human)


@app.command("list", epilog="Example: mcpist tenant list --json")
def list_(as_json: JsonOption = False) -> None:
    """Show all tenants."""

    async def work(operating: "Operator") -> "list[Tenant]":
        from core.directory.tenants import list_tenants

        return await list_tenants(operating.console)

    def at_server(api: "Api") -> "list[Tenant]":
        from gateway.cli.remote.tenants import tenants

        return tenants(api)

    found = administer(work, at_server)
    rows = [(one.slug, one.name, one.status, one.record_arguments) for one in found]
    columns = ("Slug", "Name", "Status", "Records arguments")
    emit(as_json, found, lambda: table(columns, rows, empty="No tenant yet: `mcpist up` makes the first one."))


@app.command("suspend", epilog="Example: mcpist tenant suspend acme")
def suspend(slug: Slug, as_json: JsonOption = False) -> None:
    """Shut a tenant out: all its people lose access within a second."""
    _set_status(slug, "suspended", as_json)


@app.command("resume", epilog="Example: mcpist tenant resume acme")
def resume(slug: Slug, as_json: JsonOption = False) -> None:
    """Let a suspended tenant in again."""
    _set_status(slug, "active", as_json)


@app.command("remove", epilog="Example: mcpist tenant remove acme --confirm acme")
def remove(
    slug: Slug,
    confirm: Annotated[
        str, typer.Option("--confirm", metavar="SLUG", help="The slug once more.", prompt="The slug once more")
    ],
    as_json: JsonOption = False,
) -> None:
    """Delete a tenant with all that is its people's; only the audit log stays. Their access ends within a second."""

    async def work(operating: "Operator") -> "Sequence[Goodbye]":
        from core.directory.removal import remove_tenant
        from core.directory.tenants import find_tenant
        from gateway.single.bootstrap import OPERATOR
        from gateway.single.disconnecting import opened_ends

        found = await find_tenant(operating.console, slug)
        async with opened_ends(operating.deployment, read_settings()) as ends:
            return await remove_tenant(operating.console, OPERATOR, found.id, confirm, ends.farewell)

    def at_server(api: "Api") -> "Sequence[Goodbye]":
        from gateway.cli.remote.tenants import remove_tenant

        return remove_tenant(api, slug, confirm)

    tell(administer(work, at_server))
    emit(as_json, {"slug": slug, "removed": True}, lambda: say(f"{slug} is gone."))


@app.command("record-arguments", epilog="Example: mcpist tenant record-arguments on --tenant acme")
def record_arguments(
    switch: Annotated[Switch, typer.Argument(help="on or off")],
    tenant: Annotated[str | None, typer.Option("--tenant", metavar="SLUG", help="The tenant.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Keep the arguments of calls in the audit log, or only a keyed digest of them (the default)."""

    async def work(operating: "Operator") -> str:
        from core.directory.tenants import set_recording
        from gateway.cli.tenancy import the_tenant
        from gateway.single.bootstrap import OPERATOR

        found = await the_tenant(operating, tenant)
        await set_recording(operating.console, OPERATOR, found.id, arguments=switch is Switch.ON)
        return found.slug

    def at_server(api: "Api") -> str:
        from gateway.cli.remote.tenants import set_recording

        return set_recording(api, tenant, switch is Switch.ON)

    slug = administer(work, at_server)
    document = {"slug": slug, "record_arguments": switch is Switch.ON}
    emit(as_json, document, lambda: say(f"Recording of arguments is {switch.value} for {slug}."))


def _set_status(slug: str, status: str, as_json: bool) -> None:
    async def work(operating: "Operator") -> None:
        from core.directory.tenants import find_tenant, set_status
        from gateway.single.bootstrap import OPERATOR

        found = await find_tenant(operating.console, slug)
        await set_status(operating.console, OPERATOR, found.id, status)

    def at_server(api: "Api") -> None:
        from gateway.cli.remote.tenants import set_status

        set_status(api, slug, status)

    administer(work, at_server)
    emit(as_json, {"slug": slug, "status": status}, lambda: say(f"{slug} is {status}."))
