"""`mcpist provider`: the vendors that accounts can be connected at: those of MCPist's own, and those that you add."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.options import JsonOption, TenantOption, create_group
from cli.output import (
    escape_control_characters,
    format_json,
    print_json,
    print_line,
    print_note,
    print_result,
    print_table,
)
from cli.runner import run_api_command

if TYPE_CHECKING:
    from collections.abc import Sequence

    from broker.providers.drafts import ProviderDraft
    from broker.providers.views import DetailedProvider, ProviderSummary
    from cli.client.admin_api import AdminApiClient

app = create_group("Vendors that accounts can be connected at: MCPist's own, and those that you add.")

ProviderName = Annotated[str, typer.Argument(metavar="ID", help="As `mcpist provider list` shows it.")]


@app.command("list", epilog="Example: mcpist provider list --json")
def list_(tenant: TenantOption = None, as_json: JsonOption = False) -> None:
    """Show the vendors, their modules, and the redirect URI to register at each."""

    def call_api(api: "AdminApiClient") -> "Sequence[ProviderSummary]":
        from cli.client.providers import fetch_providers

        return fetch_providers(api)

    providers = run_api_command(call_api, tenant=tenant)
    columns = ("Id", "Vendor", "From", "By", "Modules", "Settings", "Redirect URI", "Problem")
    rows = [
        (
            provider.id,
            provider.title,
            _format_origin(provider),
            _list_methods(provider),
            provider.modules,
            [setting.name for setting in provider.settings],
            provider.redirect_uri,
            provider.problem,
        )
        for provider in providers
    ]
    print_result(as_json, [asdict(provider) for provider in providers], lambda: print_table(columns, rows, empty=""))


@app.command("show", epilog="Example: mcpist provider show github --document > my_github.json")
def show(
    provider: ProviderName,
    document: Annotated[
        bool, typer.Option("--document", help="Print the document alone, in the form that `add` takes.")
    ] = False,
    tenant: TenantOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show one vendor with its whole document, and what uses it."""

    def call_api(api: "AdminApiClient") -> "DetailedProvider":
        from cli.client.providers import fetch_provider

        return fetch_provider(api, provider)

    provider_details = run_api_command(call_api, tenant=tenant)
    if document:
        print_json({provider_details.id: provider_details.document}) if as_json else typer.echo(
            escape_control_characters(format_json({provider_details.id: provider_details.document}))
        )
    else:
        print_result(as_json, asdict(provider_details), lambda: _print_provider(provider_details))


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
    provider_id: Annotated[str, typer.Option("--id", metavar="ID", help="With --discover: the provider's id.")] = "",
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
    from broker.providers.drafts import DraftRequest

    only_with_discover = bool(resource or provider_id or title or module or draft)
    source = _read_source(file, discover, only_with_discover)
    file_document = source if isinstance(source, tuple) else None
    request = None if file_document else DraftRequest(str(source), resource, provider_id, title, tuple(module or ()))

    def call_api(api: "AdminApiClient") -> "ProviderDraft | tuple[DetailedProvider, bool]":
        from cli.client.providers import discover_provider, put_provider

        discovered = discover_provider(api, request) if request is not None else None
        if draft and discovered is not None:
            return discovered
        provider, document = (
            (discovered.id, discovered.document) if discovered is not None else _require_document(file_document)
        )
        return put_provider(api, provider, document, replace=replace)

    result = run_api_command(call_api, tenant=tenant)
    if not isinstance(result, tuple):
        _print_draft(result, as_json)
        return
    discovered, new = result
    print_result(as_json, asdict(discovered), lambda: _print_added(discovered, new))


@app.command("remove", epilog="Example: mcpist provider remove acme_crm")
def remove(provider: ProviderName, tenant: TenantOption = None, as_json: JsonOption = False) -> None:
    """Forget a vendor that was added, and on which no OAuth app and no account stands."""

    def call_api(api: "AdminApiClient") -> None:
        from cli.client.providers import remove_provider

        remove_provider(api, provider)

    run_api_command(call_api, tenant=tenant)
    print_result(as_json, {"id": provider, "removed": True}, lambda: print_line(f"The provider {provider} is removed."))


def _read_source(file: Path | None, discover: str | None, only_with_discover: bool) -> tuple[str, dict[str, Any]] | str:
    """Read the id and document in the file, or the URL to ask."""
    from broker.providers.catalogue import parse_provider_text
    from core.errors import Invalid

    if discover is not None and file is None:
        return discover
    if file is None or discover is not None:
        raise Invalid("say where the provider comes from: FILE, or --discover URL")
    if only_with_discover:
        raise Invalid("--resource, --id, --title, --module and --draft go with --discover; a file says all of it")
    try:
        return parse_provider_text(file.read_text("utf-8"))
    except OSError as error:
        raise Invalid(f"{file} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise Invalid(f"{file} is no text in UTF-8") from None


def _require_document(file_document: tuple[str, dict[str, Any]] | None) -> tuple[str, dict[str, Any]]:
    assert file_document is not None, "there is a file where nothing is discovered"
    return file_document


def _print_draft(draft: "ProviderDraft", as_json: bool) -> None:
    print_json({draft.id: draft.document}) if as_json else typer.echo(
        escape_control_characters(format_json({draft.id: draft.document}))
    )
    if draft.scopes and not as_json:
        print_note(f"Scopes that the server says it has: {' '.join(draft.scopes)}")


def _print_added(provider: "DetailedProvider", new: bool) -> None:
    print_line(f"The provider {provider.id} is {'added' if new else 'there as you asked for'}.")
    if provider.client_registration:
        print_line("MCPist becomes a client there by itself; an OAuth app that you register comes before that.")
    elif provider.redirect_uri:
        print_line(f"Register an OAuth app there with the redirect URI {provider.redirect_uri}")
        print_line(f"and give its id and secret to `mcpist oauth-client set {provider.id}`.")


def _print_provider(provider: "DetailedProvider") -> None:
    fields = {
        "Vendor": provider.title,
        "From": _format_origin(provider),
        "Problem": provider.problem,
        "Redirect URI": provider.redirect_uri,
        "Without a registered OAuth app": provider.client_registration and f"by {provider.client_registration}",
        "Register an OAuth app at": provider.console_url,
        "The vendor's page on how": provider.docs_url,
        "Version": provider.version,
        "Usage": str(provider.usage),
    }
    for name, value in fields.items():
        if value:
            print_line(f"{name}: {value}")
    typer.echo(escape_control_characters(format_json({provider.id: provider.document})))


def _format_origin(provider: "ProviderSummary") -> str:
    return "MCPist" if provider.origin == "built_in" else "custom"


def _list_methods(provider: "ProviderSummary") -> list[str]:
    return [method for method, is_there in (("oauth", provider.oauth), ("key", provider.key)) if is_there]
