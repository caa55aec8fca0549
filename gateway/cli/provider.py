"""`mcpist provider`: the vendors that accounts can be connected at: those of MCPist's own, and those that you add."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gateway.cli.options import JsonOption, TenantOption, group
from gateway.cli.output import clean, emit, note, pretty, print_json, say, table
from gateway.cli.session import administer, read_settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from broker.connect.shown_providers import ShownProvider, WholeProvider
    from broker.providers.drafts import Draft, Wish
    from gateway.cli.remote.api import Api
    from gateway.single.operator import Operator

app = group("Vendors that accounts can be connected at: MCPist's own, and those that you add.")

ProviderName = Annotated[str, typer.Argument(metavar="ID", help="As `mcpist provider list` shows it.")]


@app.command("list", epilog="Example: mcpist provider list --json")
def list_(tenant: TenantOption = None, as_json: JsonOption = False) -> None:
    """Show the vendors, their modules, and the redirect URI to register at each."""

    async def work(operating: "Operator") -> "Sequence[ShownProvider]":
        from gateway.cli.tenancy import the_tenant
        from gateway.single.providers_access import opened_providers

        found = await the_tenant(operating, tenant)
        async with opened_providers(operating, read_settings()) as opened:
            return await opened.shown.all(found.id)

    def at_server(api: "Api") -> "Sequence[ShownProvider]":
        from gateway.cli.remote.providers import providers

        return providers(api)

    found = administer(work, at_server, tenant=tenant)
    columns = ("Id", "Vendor", "From", "By", "Modules", "Settings", "Redirect URI", "Problem")
    rows = [
        (one.id, one.title, _origin(one), _ways(one), one.modules, [a.name for a in one.settings], one.redirect_uri,
         one.problem)
        for one in found
    ]  # fmt: skip
    emit(as_json, [asdict(one) for one in found], lambda: table(columns, rows, empty=""))


@app.command("show", epilog="Example: mcpist provider show github --document > my_github.json")
def show(
    provider: ProviderName,
    document: Annotated[
        bool, typer.Option("--document", help="Print the document alone, in the form that `add` takes.")
    ] = False,
    tenant: TenantOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show one vendor with its whole document, and what stands on it."""

    async def work(operating: "Operator") -> "WholeProvider":
        from gateway.cli.tenancy import the_tenant
        from gateway.single.providers_access import opened_providers

        found = await the_tenant(operating, tenant)
        async with opened_providers(operating, read_settings()) as opened:
            return await opened.shown.whole(found.id, provider)

    def at_server(api: "Api") -> "WholeProvider":
        from gateway.cli.remote.providers import whole

        return whole(api, provider)

    found = administer(work, at_server, tenant=tenant)
    if document:
        print_json({found.id: found.document}) if as_json else typer.echo(clean(pretty({found.id: found.document})))
    else:
        emit(as_json, asdict(found), lambda: _shown(found))


@app.command("add", epilog="Example: mcpist provider add --discover https://id.acme.example --module jira")
def add(
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="The document: one table of TOML, or one object of JSON.")
    ] = None,
    discover: Annotated[
        str | None, typer.Option("--discover", metavar="URL", help="Ask this issuer, or this protected resource.")
    ] = None,
    resource: Annotated[
        str, typer.Option("--resource", metavar="URL", help="With --discover: what tokens are for.")
    ] = "",
    named: Annotated[str, typer.Option("--id", metavar="ID", help="With --discover: the provider's id.")] = "",
    title: Annotated[str, typer.Option("--title", metavar="TEXT", help="With --discover: its name for people.")] = "",
    module: Annotated[
        list[str] | None, typer.Option("--module", metavar="NAME", help="With --discover: a module that it serves.")
    ] = None,
    draft: Annotated[bool, typer.Option("--draft", help="With --discover: print the document, store nothing.")] = False,
    replace: Annotated[
        bool, typer.Option("--replace", help="Change the provider of this id, if there is one.")
    ] = False,
    tenant: TenantOption = None,
    as_json: JsonOption = False,
) -> None:
    """Add a vendor, from a file or from what its server publishes of itself.

    Secrets do not belong into the document: they are the OAuth client's. What is there already, to the letter, is left
    as it is.
    """
    from broker.providers.drafts import Wish

    only_with_discover = bool(resource or named or title or module or draft)
    source = _source(file, discover, only_with_discover)
    given = source if isinstance(source, tuple) else None
    wish = None if given else Wish(str(source), resource, named, title, tuple(module or ()))

    async def work(operating: "Operator") -> "Draft | tuple[WholeProvider, bool]":
        return await _added_here(operating, tenant, given, wish, draft, replace)

    def at_server(api: "Api") -> "Draft | tuple[WholeProvider, bool]":
        from gateway.cli.remote.providers import discovered, put

        found = discovered(api, wish) if wish is not None else None
        if draft and found is not None:
            return found
        provider, document = (found.id, found.document) if found is not None else _given(given)
        return put(api, provider, document, replace=replace)

    made = administer(work, at_server, tenant=tenant)
    if not isinstance(made, tuple):
        _print_draft(made, as_json)
        return
    found, new = made
    emit(as_json, asdict(found), lambda: _print_added(found, new))


@app.command("remove", epilog="Example: mcpist provider remove acme_crm")
def remove(provider: ProviderName, tenant: TenantOption = None, as_json: JsonOption = False) -> None:
    """Forget a vendor that was added, and on which no OAuth app and no account stands."""

    async def work(operating: "Operator") -> None:
        from gateway.cli.tenancy import the_tenant
        from gateway.single.bootstrap import OPERATOR
        from gateway.single.providers_access import opened_providers

        found = await the_tenant(operating, tenant)
        async with opened_providers(operating, read_settings()) as opened:
            await opened.added.remove(OPERATOR, found.id, provider)

    def at_server(api: "Api") -> None:
        from gateway.cli.remote.providers import remove_provider

        remove_provider(api, provider)

    administer(work, at_server, tenant=tenant)
    emit(as_json, {"id": provider, "removed": True}, lambda: say(f"The provider {provider} is removed."))


async def _added_here(
    operating: "Operator",
    tenant: str | None,
    given: tuple[str, dict[str, Any]] | None,
    wish: "Wish | None",
    only_draft: bool,
    replace: bool,
) -> "Draft | tuple[WholeProvider, bool]":
    from broker.providers.drafts import draft
    from gateway.cli.tenancy import the_tenant
    from gateway.single.bootstrap import OPERATOR
    from gateway.single.providers_access import opened_providers

    tenant_id = (await the_tenant(operating, tenant)).id
    async with opened_providers(operating, read_settings()) as opened:
        found = await draft(opened.discovery, wish) if wish is not None else None
        if found is not None:
            opened.added.check(found.id, found.document)
            if only_draft:
                return found
        provider, document = (found.id, found.document) if found is not None else _given(given)
        version = await opened.version(tenant_id, provider) if replace else None
        _, new = await opened.added.put(OPERATOR, tenant_id, provider, document, version)
        return await opened.shown.whole(tenant_id, provider), new


def _source(file: Path | None, discover: str | None, only_with_discover: bool) -> tuple[str, dict[str, Any]] | str:
    """The id and document in the file, or the URL to ask."""
    from broker.providers.catalogue import provider_of_text
    from core.errors import Invalid

    if discover is not None and file is None:
        return discover
    if file is None or discover is not None:
        raise Invalid("say where the provider comes from: FILE, or --discover URL")
    if only_with_discover:
        raise Invalid("--resource, --id, --title, --module and --draft go with --discover; a file says all of it")
    try:
        return provider_of_text(file.read_text("utf-8"))
    except OSError as error:
        raise Invalid(f"{file} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise Invalid(f"{file} is no text in UTF-8") from None


def _given(given: tuple[str, dict[str, Any]] | None) -> tuple[str, dict[str, Any]]:
    assert given is not None, "there is a file where nothing is discovered"
    return given


def _print_draft(found: "Draft", as_json: bool) -> None:
    print_json({found.id: found.document}) if as_json else typer.echo(clean(pretty({found.id: found.document})))
    if found.scopes and not as_json:
        note(f"Scopes that the server says it has: {' '.join(found.scopes)}")


def _print_added(found: "WholeProvider", new: bool) -> None:
    say(f"The provider {found.id} is {'added' if new else 'there as you asked for'}.")
    if found.introduction:
        say("MCPist becomes a client there by itself; an OAuth app that you register comes before that.")
    elif found.redirect_uri:
        say(f"Register an OAuth app there with the redirect URI {found.redirect_uri}")
        say(f"and give its id and secret to `mcpist oauth-client set {found.id}`.")


def _shown(found: "WholeProvider") -> None:
    told = {
        "Vendor": found.title,
        "From": _origin(found),
        "Problem": found.problem,
        "Redirect URI": found.redirect_uri,
        "Without a registered OAuth app": found.introduction and f"by {found.introduction}",
        "Register an OAuth app at": found.console_url,
        "The vendor's page on how": found.docs_url,
        "Version": found.version,
        "Stand on it": str(found.standing),
    }
    for name, value in told.items():
        if value:
            say(f"{name}: {value}")
    typer.echo(clean(pretty({found.id: found.document})))


def _origin(one: "ShownProvider") -> str:
    return "MCPist" if one.origin == "built_in" else "added"


def _ways(one: "ShownProvider") -> list[str]:
    return [way for way, is_there in (("oauth", one.oauth), ("key", one.key)) if is_there]
