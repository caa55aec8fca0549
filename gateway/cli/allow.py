"""`mcpist allow`: which e-mail addresses and domains may sign in to a tenant."""

from typing import TYPE_CHECKING, Annotated

import typer

from gateway.cli.options import JsonOption, TenantOption, group
from gateway.cli.output import emit, say, table
from gateway.cli.session import administer

if TYPE_CHECKING:
    from core.directory.allow_list import AllowListEntry
    from gateway.cli.remote.api import Api
    from gateway.single.operator import Operator

app = group("Who may sign in: e-mail addresses and domains.")

Entry = Annotated[str, typer.Argument(metavar="ENTRY", help="An e-mail address, or @ and a domain.")]


@app.command("add", epilog="Example: mcpist allow add @acme.example")
def add(entry: Entry, tenant: TenantOption = None, as_json: JsonOption = False) -> None:
    """Let an address, or everybody of a domain, sign in.

    A user whom `mcpist user create` makes is on the list already.
    """

    async def work(operating: "Operator") -> str:
        from core.directory.allow_list import add_entry
        from gateway.cli.tenancy import the_tenant
        from gateway.single.bootstrap import OPERATOR

        return await add_entry(operating.console, OPERATOR, (await the_tenant(operating, tenant)).id, entry)

    def at_server(api: "Api") -> str:
        from gateway.cli.remote.people import add_entry

        return add_entry(api, entry)

    added = administer(work, at_server, tenant=tenant)
    emit(as_json, {"entry": added, "allowed": True}, lambda: say(f"{added} may sign in."))


@app.command("remove", epilog="Example: mcpist allow remove eve@acme.example")
def remove(entry: Entry, tenant: TenantOption = None, as_json: JsonOption = False) -> None:
    """Take an address or a domain off the list: nobody signs in by it from now on.

    Sessions and tokens stay valid: `mcpist user suspend` ends both.
    """

    async def work(operating: "Operator") -> str:
        from core.directory.allow_list import remove_entry
        from gateway.cli.tenancy import the_tenant
        from gateway.single.bootstrap import OPERATOR

        return await remove_entry(operating.console, OPERATOR, (await the_tenant(operating, tenant)).id, entry)

    def at_server(api: "Api") -> str:
        from gateway.cli.remote.people import remove_entry

        return remove_entry(api, entry)

    removed = administer(work, at_server, tenant=tenant)
    emit(as_json, {"entry": removed, "allowed": False}, lambda: say(f"{removed} may sign in no more."))


@app.command("list", epilog="Example: mcpist allow list --json")
def list_(tenant: TenantOption = None, as_json: JsonOption = False) -> None:
    """Show who may sign in."""

    async def work(operating: "Operator") -> "list[AllowListEntry]":
        from core.directory.allow_list import list_entries
        from gateway.cli.tenancy import the_tenant

        found = await the_tenant(operating, tenant)
        entries = await list_entries(operating.console, found.id)
        while more := await list_entries(operating.console, found.id, after=entries[-1].entry) if entries else []:
            entries += more
        return entries

    def at_server(api: "Api") -> "list[AllowListEntry]":
        from gateway.cli.remote.people import entries

        return entries(api)

    found = administer(work, at_server, tenant=tenant)
    rows = [(one.entry, one.created_at) for one in found]
    emit(
        as_json, found, lambda: table(("Entry", "Since"), rows, empty="Nobody yet: `mcpist allow add` lets people in.")
    )
