"""`mcpist provider`: the vendors that accounts can be connected at, and what has to be registered there."""

from typing import TYPE_CHECKING, Any

from gateway.cli.options import JsonOption, TenantOption, group
from gateway.cli.output import emit, table
from gateway.cli.session import administer, load_settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from broker.providers.model import Provider
    from gateway.single.operator import Operator

app = group("Vendors that accounts can be connected at.")


@app.command("list", epilog="Example: mcpist provider list --json")
def list_(tenant: TenantOption = None, as_json: JsonOption = False) -> None:
    """Show the vendors, their modules, and the redirect URI to register at each."""
    from broker.connect.addresses import redirect_uri

    public_url = load_settings().public_url

    async def work(operating: "Operator") -> "Sequence[Provider]":
        from gateway.cli.tenancy import the_tenant
        from gateway.single.vendor_clients import providers_of

        found = await the_tenant(operating, tenant)
        return await providers_of(operating.deployment, found.id)

    def uri(one: "Provider") -> str:
        return redirect_uri(public_url, one.id) if one.oauth else ""

    found = administer(work)
    columns = ("Id", "Vendor", "By", "Modules", "Settings", "Redirect URI")
    rows = [(one.id, one.title, _ways(one), sorted(one.modules), sorted(one.settings), uri(one)) for one in found]
    documents = [_document(one) | {"redirect_uri": uri(one) or None} for one in found]
    emit(as_json, documents, lambda: table(columns, rows, empty=""))


def _ways(one: "Provider") -> list[str]:
    return [way for way, is_there in (("oauth", one.oauth), ("key", one.key)) if is_there is not None]


def _document(one: "Provider") -> dict[str, Any]:
    return {
        "id": one.id,
        "title": one.title,
        "by": _ways(one),
        "modules": sorted(one.modules),
        "console_url": one.console_url,
        "settings": {name: {"title": value.title, "default": value.default} for name, value in one.settings.items()},
    }
