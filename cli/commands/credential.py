"""`mcpist credential`: the accounts at vendors that tools work with. Secrets go in, and never come out."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from cli.failures import CommandExit
from cli.modules import ModuleName, find_installed_module, get_vendor_api
from cli.options import JsonOption, TenantOption, create_group
from cli.output import print_line, print_note, print_result, print_table
from cli.revocation_output import print_disconnect_result
from cli.runner import load_settings, run_admin_command, run_local, run_local_or_remote
from cli.secret_input import is_prompted, read_secret, refuse_on_command_line
from core.errors import Invalid, NotFound

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from broker.disconnect.disconnect_service import DisconnectResult
    from broker.vault.stored_credentials import CredentialOwner, StoredCredential
    from cli.client.admin_api import AdminApiClient
    from cli.client.credentials import RemoteCredential
    from cli.progress import Report
    from core.config.settings import Settings
    from server.module_credentials import CredentialStoreResult, CredentialTestResult, ModuleCredentials
    from server.operator_context import OperatorContext

app = create_group("Accounts at vendors that tools work with; secrets go in and never come out.")

_T = TypeVar("_T")

UserOption = Annotated[str | None, typer.Option("--user", metavar="EMAIL", help="This person's own credential.")]
RoleOption = Annotated[
    str | None, typer.Option("--role", metavar="NAME", help="The credential that this role's members share.")
]
STATE_LABELS = {"ok": "connected", "broken": "broken"}


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
    whose = _require_one_owner(user, role)
    if is_prompted(from_file, stdin):  # before anybody looks for a secret that cannot be stored
        run_admin_command(
            lambda operating: _check_preconditions(operating, tenant, module, user, role),
            _build_owner_check(user),
            tenant=tenant,
        )
    secret = read_secret(f"Secret of {whose} for {module}", from_file, stdin)

    async def work(accounts: "ModuleCredentials", owner: "CredentialOwner | None") -> "CredentialStoreResult":
        assert owner is not None
        from broker.connections.api_keys import PastedKey

        pasted = PastedKey(secret, key_user, provider)
        return await accounts.put(owner, pasted, test=not no_test, replace_account=replace_account)

    def run_here() -> "Mapping[str, Any]":
        return _build_stored_document(
            _run_on_credentials(work, tenant, module, user, role), whose, module, tested=not no_test
        )

    def call_api(api: "AdminApiClient") -> "Mapping[str, Any]":
        from broker.connections.api_keys import PastedKey
        from cli.client.credentials import store_credential

        pasted = PastedKey(secret, key_user, provider)
        return store_credential(api, module, user, role, pasted, test=not no_test, replace_account=replace_account)

    document = run_local_or_remote(run_here, call_api, tenant=tenant)
    print_result(as_json, document, lambda: _print_stored(document))


@app.command("list", epilog="Example: mcpist credential list github --json")
def list_(
    module: Annotated[str | None, typer.Argument(metavar="MODULE", help="Only this module's.")] = None,
    tenant: TenantOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show whose credentials there are, for which accounts, and which of them are broken; never the secrets."""

    async def work(operating: "OperatorContext") -> list[dict[str, Any]]:
        from cli.lookup import resolve_tenant
        from server.operator_vault import open_credentials_without_keys

        found = await resolve_tenant(operating, tenant)
        async with open_credentials_without_keys(operating.deployment) as credentials:
            listed = await credentials.list(found.id, module)
        if module is not None and not listed:
            get_vendor_api(find_installed_module(operating.catalogue, module))
        return [_build_document(one) for one in listed]

    def call_api(api: "AdminApiClient") -> list[dict[str, Any]]:
        from cli.client.credentials import fetch_credentials

        return [_build_document(one) for one in fetch_credentials(api, module)]

    found = run_admin_command(work, call_api, tenant=tenant)
    columns = ("Module", "Owner", "Kind", "By", "Account", "State", "Cause", "Since", "Last used")
    shown = ("module", "owner", "kind", "provider", "account", "state", "cause", "since", "last_used_at")
    rows = [[one[name] or ("key" if name == "provider" else one[name]) for name in shown] for one in found]
    empty = "No credential yet: `mcpist credential set` stores one."
    print_result(as_json, found, lambda: print_table(columns, rows, empty=empty))


@app.command("remove", epilog="Example: mcpist credential remove github --user ada@acme.example")
def remove(
    module: ModuleName,
    user: UserOption = None,
    role: RoleOption = None,
    tenant: TenantOption = None,
    as_json: JsonOption = False,
) -> None:
    """Delete a credential: within a second nothing uses it.

    The vendor of an account is told. A pasted key stays valid there until it is revoked.
    """
    whose = _require_one_owner(user, role)

    async def work(operating: "OperatorContext") -> "DisconnectResult":
        from cli.lookup import resolve_tenant
        from server.bootstrap import OPERATOR_ACTOR
        from server.wiring.disconnect import open_disconnect_services

        found = await resolve_tenant(operating, tenant)
        async with open_disconnect_services(operating.deployment, load_settings()) as ends:
            owner = await ends.credentials.resolve_owner(found.id, email=user or "", role=role or "")
            try:
                return await ends.disconnect_service.disconnect_module(OPERATOR_ACTOR, found.id, module, owner)
            except NotFound:
                find_installed_module(operating.catalogue, module)
                raise

    def call_api(api: "AdminApiClient") -> "DisconnectResult":
        from cli.client import credentials

        return credentials.remove_credential(api, module, user, role)

    print_disconnect_result(run_admin_command(work, call_api, tenant=tenant))
    print_result(
        as_json,
        {"module": module, "owner": whose, "removed": True},
        lambda: print_line(f"Removed {module} of {whose}."),
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

    async def work(accounts: "ModuleCredentials", owner: "CredentialOwner | None") -> "list[CredentialTestResult]":
        listed = await accounts.credentials.list(accounts.tenant_id, module, owner)
        if not listed:
            raise NotFound(f"there is no such credential for {module}; `mcpist credential set {module}` stores one")
        return [await accounts.test(one) for one in listed]

    tested = _run_on_credentials(work, tenant, module, user, role)
    works = all(one.works for one in tested)
    columns = ("Owner", "Kind", "Account", "State", "Found")
    rows = [(one.owner, one.kind, one.account, STATE_LABELS[one.state], one.told) for one in tested]
    results = [replace(one, state=STATE_LABELS[one.state]) for one in tested]
    document = {"module": module, "works": works, "results": results}
    print_result(as_json, document, lambda: print_table(columns, rows, empty=""))
    if not works:
        raise CommandExit(1)


def _require_one_owner(user: str | None, role: str | None) -> str:
    if bool(user) == bool(role):
        raise Invalid("say whose the credential is: --user EMAIL for a person's own, or --role NAME for a shared one")
    return user or f"role {role}"


async def _check_preconditions(
    operating: "OperatorContext", tenant: str | None, module: str, user: str | None, role: str | None
) -> None:
    from cli.lookup import resolve_tenant
    from server.operator_vault import open_credentials

    get_vendor_api(find_installed_module(operating.catalogue, module))
    found = await resolve_tenant(operating, tenant)
    async with open_credentials(operating.deployment) as credentials:
        await credentials.resolve_owner(found.id, email=user or "", role=role or "")


def _run_on_credentials(
    work: "Callable[[ModuleCredentials, CredentialOwner | None], Awaitable[_T]]",
    tenant: str | None,
    module: str,
    user: str | None,
    role: str | None,
) -> _T:
    """Run `work` with the module's accounts in the tenant, and with the owner if one is named."""

    async def run(settings: "Settings", report: "Report") -> _T:
        from cli.lookup import resolve_tenant
        from server.module_credentials import open_module_credentials
        from server.operator_context import open_operator_context

        async with open_operator_context(settings, report) as operating:
            found = find_installed_module(operating.catalogue, module)
            get_vendor_api(found)
            company = await resolve_tenant(operating, tenant)
            async with open_module_credentials(operating, settings, company.id, found) as accounts:
                owner = None
                if user or role:
                    owner = await accounts.credentials.resolve_owner(company.id, email=user or "", role=role or "")
                report(f"Asking {found.title}")
                return await work(accounts, owner)

    return run_local(run)


def _build_owner_check(user: str | None) -> "Callable[[AdminApiClient], None]":
    def check(api: "AdminApiClient") -> None:
        from cli.client.credentials import check_owner

        check_owner(api, user)

    return check


def _build_stored_document(
    stored: "CredentialStoreResult", whose: str, module: str, *, tested: bool
) -> "Mapping[str, Any]":
    before = stored.previous
    if not tested:
        print_note(
            "Note: the vendor was not asked, so nobody knows yet whether this secret works: mcpist credential test"
        )
    if not stored.is_service_enabled:
        print_note(f"Note: {module} is off for this tenant, and nobody can use it: mcpist service enable {module}")
    return {
        "module": module,
        "owner": whose,
        "account": stored.account,
        "tested": tested,
        "replaced": before is not None,
        "previous_account": before.account if before else None,
    }


def _print_stored(document: "Mapping[str, Any]") -> None:
    now, before = document["account"], document["previous_account"]
    account = f", account {now}" if now else ""
    earlier = before if before != now else ""
    instead = f" It replaces one of {earlier}." if earlier else " It replaces the one before."
    print_line(
        f"Stored {document['module']} for {document['owner']}{account}." + (instead if document["replaced"] else "")
    )


def _build_document(one: "StoredCredential | RemoteCredential") -> dict[str, Any]:
    return {
        "module": one.module,
        "owner": one.owner,
        "kind": one.kind,
        "type": one.type,
        "provider": one.provider,
        "account": one.account,
        "state": STATE_LABELS.get(one.state, one.state),
        "cause": one.cause,
        "since": one.updated_at,
        "last_used_at": one.last_used_at,
        "created_at": one.created_at,
    }
