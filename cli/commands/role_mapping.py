"""`mcpist role-mapping`: roles that people have by their groups and e-mail domains."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from cli.options import JsonOption, TenantOption, create_group
from cli.output import print_line, print_result, print_table
from cli.runner import run_api_command

if TYPE_CHECKING:
    from cli.client.admin_api import AdminApiClient
    from core.directory.role_mappings import RoleMapping

app = create_group("Roles that people have by their groups and e-mail domains at identity providers.")


@app.command("add", epilog="Example: mcpist role-mapping add reader --provider acme --group engineering")
def add(
    role: Annotated[str, typer.Argument(metavar="ROLE", help="The role's name.")],
    group: Annotated[str | None, typer.Option("--group", metavar="NAME", help="As the provider sends it.")] = None,
    provider: Annotated[
        str, typer.Option("--provider", metavar="ID", help="With --group: the identity provider, or scim.")
    ] = "",
    domain: Annotated[
        str | None, typer.Option("--domain", metavar="DOMAIN", help="Of verified addresses, such as acme.example.")
    ] = None,
    tenant: TenantOption = None,
    as_json: JsonOption = False,
) -> None:
    """Give a role to whoever is in a group of an identity provider, or has an address of a domain.

    It counts from each person's next sign-in on; roles that were given by hand stay.
    """
    from core.errors import Invalid

    if (group is None) == (domain is None):
        raise Invalid("give either --group NAME --provider ID, or --domain DOMAIN")

    def call_api(api: "AdminApiClient") -> "RoleMapping":
        from cli.client.role_mappings import add_role_mapping

        if domain is not None:
            return add_role_mapping(api, role, "domain", "", domain)
        return add_role_mapping(api, role, "group", provider, group or "")

    mapping = run_api_command(call_api, tenant=tenant)
    print_result(as_json, asdict(mapping), lambda: print_line(f"{mapping.value} has the role {mapping.role}."))


@app.command("list", epilog="Example: mcpist role-mapping list --json")
def list_(tenant: TenantOption = None, as_json: JsonOption = False) -> None:
    """Show the mappings of a tenant, the oldest first."""

    def call_api(api: "AdminApiClient") -> "list[RoleMapping]":
        from cli.client.role_mappings import fetch_role_mappings

        return fetch_role_mappings(api)

    mappings = run_api_command(call_api, tenant=tenant)
    columns = ("Mapping", "Kind", "Provider", "Group or domain", "Role", "Since")
    rows = [(str(one.id), one.kind, one.provider, one.value, one.role, one.created_at) for one in mappings]
    empty = "No mapping yet: roles are given by hand (`mcpist user assign`)."
    print_result(as_json, [asdict(one) for one in mappings], lambda: print_table(columns, rows, empty=empty))


@app.command("remove", epilog="Example: mcpist role-mapping remove 4b2f…")
def remove(
    mapping: Annotated[str, typer.Argument(metavar="MAPPING", help="As `mcpist role-mapping list` shows it.")],
    tenant: TenantOption = None,
    as_json: JsonOption = False,
) -> None:
    """Remove a mapping; who has the role from it loses it at their next sign-in."""

    def call_api(api: "AdminApiClient") -> None:
        from cli.client.role_mappings import remove_role_mapping

        remove_role_mapping(api, mapping)

    run_api_command(call_api, tenant=tenant)
    print_result(as_json, {"id": mapping, "removed": True}, lambda: print_line("The mapping is removed."))
