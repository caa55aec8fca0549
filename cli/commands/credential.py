"""`mcpist credential`: the accounts at vendors that tools work with. Secrets go in, and never come out."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.failures import CommandExit
from cli.options import JsonOption, ModuleName, TenantOption, create_group
from cli.output import print_line, print_note, print_result, print_table
from cli.revocation_output import print_disconnect_result
from cli.runner import run_api_command
from cli.secret_input import is_prompted, read_secret, refuse_on_command_line
from core.errors import Invalid

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker.disconnect.disconnect_service import DisconnectResult
    from cli.client.admin_api import AdminApiClient
    from cli.client.credentials import CredentialTestResult, RemoteCredential

app = create_group("Accounts at vendors that tools work with; secrets go in and never come out.")

UserOption = Annotated[str | None, typer.Option("--user", metavar="EMAIL", help="This person's own credential.")]
RoleOption = Annotated[
    str | None, typer.Option("--role", metavar="NAME", help="The credential that this role's members share.")
]


@app.command(
    "set",
    context_settings={"allow_extra_args": True},
    epilog="Example: mcpist credential set github --user ada@acme.example --stdin < token.txt",
)
def set_(
    context: typer.Context,
    module: ModuleName,
    user: UserOption = None,
    role: RoleOption = None,
    from_file: Annotated[
        Path | None, typer.Option("--from-file", metavar="FILE", help="Read the secret from a file.")
    ] = None,
    stdin: Annotated[bool, typer.Option("--stdin", help="Read the secret from standard input.")] = False,
    no_test: Annotated[bool, typer.Option("--no-test", help="Store it without asking the vendor.")] = False,
    replace_account: Annotated[
        bool, typer.Option("--replace-account", help="It may belong to another account than the one before.")
    ] = False,
    key_user: Annotated[
        str, typer.Option("--key-user", metavar="NAME", help="User name or e-mail address that belongs to the key.")
    ] = "",
    provider: Annotated[
        str, typer.Option("--provider", metavar="ID", help="Whose key it is, where several providers serve the module.")
    ] = "",
    tenant: TenantOption = None,
    as_json: JsonOption = False,
) -> None:
    """Store a token or key for a person, or for all members of a role.

    It is read at a prompt, from --stdin or from a file, never from the command line. The vendor is asked first whose it
    is. One that is there already is replaced. Where the vendor wants an e-mail address and a token (Atlassian), give
    the address as --key-user.
    """
    refuse_on_command_line(context.args)
    owner = _require_one_owner(user, role)
    if is_prompted(from_file, stdin):  # before anybody looks for a secret that cannot be stored
        run_api_command(lambda api: _check_owner(api, module, user, role), tenant=tenant)
    secret = read_secret(f"Secret of {owner} for {module}", from_file, stdin)

    def call_api(api: "AdminApiClient") -> "Mapping[str, Any]":
        from broker.connections.api_keys import PastedKey
        from cli.client.credentials import store_credential

        key = PastedKey(secret, key_user, provider)
        return store_credential(api, module, user, role, key, test=not no_test, replace_account=replace_account)

    document = run_api_command(call_api, tenant=tenant)
    if no_test:
        print_note("Note: the vendor was not asked, so this secret is untested: mcpist credential test")
    print_result(as_json, document, lambda: _print_stored(document))


@app.command("list", epilog="Example: mcpist credential list github --json")
def list_(
    module: Annotated[str | None, typer.Argument(metavar="MODULE", help="Only this module's.")] = None,
    tenant: TenantOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show whose credentials there are, for which accounts, and which of them are broken; never the secrets."""

    def call_api(api: "AdminApiClient") -> list[dict[str, Any]]:
        from cli.client.credentials import fetch_credentials

        return [_build_document(credential) for credential in fetch_credentials(api, module)]

    credentials = run_api_command(call_api, tenant=tenant)
    columns = ("Module", "Owner", "Kind", "By", "Account", "State", "Cause", "Since", "Last used")
    names = ("module", "owner", "kind", "provider", "account", "state", "cause", "since", "last_used_at")
    rows = [
        [credential[name] or ("key" if name == "provider" else credential[name]) for name in names]
        for credential in credentials
    ]
    empty = "No credential yet: `mcpist credential set` stores one."
    print_result(as_json, credentials, lambda: print_table(columns, rows, empty=empty))


@app.command("remove", epilog="Example: mcpist credential remove github --user ada@acme.example")
def remove(
    module: ModuleName,
    user: UserOption = None,
    role: RoleOption = None,
    tenant: TenantOption = None,
    as_json: JsonOption = False,
) -> None:
    """Delete a credential: within a second nothing uses it.

    A connected account is revoked at its vendor. A pasted key stays valid there until it is revoked.
    """
    owner = _require_one_owner(user, role)

    def call_api(api: "AdminApiClient") -> "DisconnectResult":
        from cli.client import credentials

        return credentials.remove_credential(api, module, user, role)

    print_disconnect_result(run_api_command(call_api, tenant=tenant))
    print_result(
        as_json,
        {"module": module, "owner": owner, "removed": True},
        lambda: print_line(f"Removed {module} of {owner}."),
    )


@app.command("test", epilog="Example: mcpist credential test github")
def run_test(
    module: ModuleName,
    user: UserOption = None,
    role: RoleOption = None,
    tenant: TenantOption = None,
    as_json: JsonOption = False,
) -> None:
    """Ask the vendor, by a harmless request, whether stored credentials work; without an owner all of the module.

    One that the vendor refuses is marked broken; a broken one that it accepts is used again. Exit code 1 if one does
    not work.
    """
    if user or role:
        _require_one_owner(user, role)

    def call_api(api: "AdminApiClient") -> "list[CredentialTestResult]":
        from cli.client.credentials import check_credentials

        return check_credentials(api, module, user, role)

    results = run_api_command(call_api, tenant=tenant)
    all_work = all(result.works for result in results)
    columns = ("Owner", "Kind", "Account", "State", "Found")
    rows = [(result.owner, result.kind, result.account, result.state, result.message) for result in results]
    document = {"module": module, "works": all_work, "results": results}
    print_result(as_json, document, lambda: print_table(columns, rows, empty=""))
    if not all_work:
        raise CommandExit(1)


def _require_one_owner(user: str | None, role: str | None) -> str:
    if bool(user) == bool(role):
        raise Invalid("say whose the credential is: --user EMAIL for a person's own, or --role NAME for a shared one")
    return user or f"role {role}"


def _check_owner(api: "AdminApiClient", module: str, user: str | None, role: str | None) -> None:
    from cli.client.credentials import check_owner

    check_owner(api, module, user, role)


def _print_stored(document: "Mapping[str, Any]") -> None:
    now, before = document["account"], document["previous_account"]
    account = f", account {now}" if now else ""
    earlier = before if before != now else ""
    instead = f" It replaces one of {earlier}." if earlier else " It replaces the one before."
    print_line(
        f"Stored {document['module']} for {document['owner']}{account}." + (instead if document["replaced"] else "")
    )


def _build_document(credential: "RemoteCredential") -> dict[str, Any]:
    return {
        "module": credential.module,
        "owner": credential.owner,
        "kind": credential.kind,
        "type": credential.type,
        "provider": credential.provider,
        "account": credential.account,
        "state": credential.state,
        "cause": credential.cause,
        "since": credential.updated_at,
        "last_used_at": credential.last_used_at,
        "created_at": credential.created_at,
    }
