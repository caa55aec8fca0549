"""`mcpist credential`: the accounts at vendors that tools work with. Secrets go in, and never come out."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from core.errors import Invalid, NotFound
from gateway.cli.failures import Stop
from gateway.cli.goodbyes import tell_ended
from gateway.cli.installed import ModuleName, the_module, the_vendor
from gateway.cli.options import JsonOption, TenantOption, group
from gateway.cli.output import emit, note, say, table
from gateway.cli.secret_input import is_asked_for, read_secret, refuse_on_command_line
from gateway.cli.session import administer, either, load_settings, locally

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from broker.connect.ended import Ended
    from broker.vault.owners import Owner
    from broker.vault.stored_credentials import StoredCredential
    from core.settings import Settings
    from gateway.cli.progress import Report
    from gateway.cli.remote.api import Api
    from gateway.cli.remote.credentials import CredentialView
    from gateway.single.accounts import Accounts, Stored, Tested
    from gateway.single.operator import Operator

app = group("Accounts at vendors that tools work with; secrets go in and never come out.")

_T = TypeVar("_T")

UserOption = Annotated[str | None, typer.Option("--user", metavar="EMAIL", help="This person's own credential.")]
RoleOption = Annotated[
    str | None, typer.Option("--role", metavar="NAME", help="The credential that this role's members share.")
]
STATES = {"ok": "connected", "broken": "broken"}


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
    whose = _one_owner(user, role)
    if is_asked_for(from_file, stdin):  # before anybody looks for a secret that cannot be stored
        administer(lambda operating: _ready(operating, tenant, module, user, role), _own(user), tenant=tenant)
    secret = read_secret(f"Secret of {whose} for {module}", from_file, stdin)

    async def work(accounts: "Accounts", owner: "Owner | None") -> "Stored":
        assert owner is not None
        from broker.connect.pasted_keys import Pasted

        pasted = Pasted(secret, key_user, provider)
        return await accounts.put(owner, pasted, test=not no_test, replace_account=replace_account)

    def here() -> "Mapping[str, Any]":
        return _stored(_on_accounts(work, tenant, module, user, role), whose, module, tested=not no_test)

    def at_server(api: "Api") -> "Mapping[str, Any]":
        from broker.connect.pasted_keys import Pasted
        from gateway.cli.remote.credentials import store

        pasted = Pasted(secret, key_user, provider)
        return store(api, module, user, role, pasted, test=not no_test, replace_account=replace_account)

    document = either(here, at_server, tenant=tenant)
    emit(as_json, document, lambda: _tell_stored(document))


@app.command("list", epilog="Example: mcpist credential list github --json")
def list_(
    module: Annotated[str | None, typer.Argument(metavar="MODULE", help="Only this module's.")] = None,
    tenant: TenantOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show whose credentials there are, for which accounts, and which of them are broken; never the secrets."""

    async def work(operating: "Operator") -> list[dict[str, Any]]:
        from gateway.cli.tenancy import the_tenant
        from gateway.single.vault_access import closed_credentials

        found = await the_tenant(operating, tenant)
        async with closed_credentials(operating.deployment) as credentials:
            listed = await credentials.list(found.id, module)
        if module is not None and not listed:
            the_vendor(the_module(operating.catalogue, module))
        return [_document(one) for one in listed]

    def at_server(api: "Api") -> list[dict[str, Any]]:
        from gateway.cli.remote.credentials import credentials

        return [_document(one) for one in credentials(api, module)]

    found = administer(work, at_server, tenant=tenant)
    columns = ("Module", "Owner", "Kind", "By", "Account", "State", "Cause", "Since", "Last used")
    shown = ("module", "owner", "kind", "provider", "account", "state", "cause", "since", "last_used_at")
    rows = [[one[name] or ("key" if name == "provider" else one[name]) for name in shown] for one in found]
    empty = "No credential yet: `mcpist credential set` stores one."
    emit(as_json, found, lambda: table(columns, rows, empty=empty))


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
    whose = _one_owner(user, role)

    async def work(operating: "Operator") -> "Ended":
        from gateway.cli.tenancy import the_tenant
        from gateway.single.bootstrap import OPERATOR
        from gateway.single.disconnecting import opened_ends

        found = await the_tenant(operating, tenant)
        async with opened_ends(operating.deployment, load_settings()) as ends:
            owner = await ends.credentials.owner(found.id, email=user or "", role=role or "")
            try:
                return await ends.disconnecting.disconnect_module(OPERATOR, found.id, module, owner)
            except NotFound:
                the_module(operating.catalogue, module)
                raise

    def at_server(api: "Api") -> "Ended":
        from gateway.cli.remote import credentials

        return credentials.remove(api, module, user, role)

    tell_ended(administer(work, at_server, tenant=tenant))
    emit(as_json, {"module": module, "owner": whose, "removed": True}, lambda: say(f"Removed {module} of {whose}."))


@app.command("test", epilog="Example: mcpist credential test github")
def ask(
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
        _one_owner(user, role)

    async def work(accounts: "Accounts", owner: "Owner | None") -> "list[Tested]":
        listed = await accounts.credentials.list(accounts.tenant_id, module, owner)
        if not listed:
            raise NotFound(f"there is no such credential for {module}; `mcpist credential set {module}` stores one")
        return [await accounts.test(one) for one in listed]

    tested = _on_accounts(work, tenant, module, user, role)
    works = all(one.works for one in tested)
    columns = ("Owner", "Kind", "Account", "State", "Found")
    rows = [(one.owner, one.kind, one.account, STATES[one.state], one.told) for one in tested]
    results = [replace(one, state=STATES[one.state]) for one in tested]
    document = {"module": module, "works": works, "results": results}
    emit(as_json, document, lambda: table(columns, rows, empty=""))
    if not works:
        raise Stop(1)


def _one_owner(user: str | None, role: str | None) -> str:
    if bool(user) == bool(role):
        raise Invalid("say whose the credential is: --user EMAIL for a person's own, or --role NAME for a shared one")
    return user or f"role {role}"


async def _ready(operating: "Operator", tenant: str | None, module: str, user: str | None, role: str | None) -> None:
    from gateway.cli.tenancy import the_tenant
    from gateway.single.vault_access import opened_credentials

    the_vendor(the_module(operating.catalogue, module))
    found = await the_tenant(operating, tenant)
    async with opened_credentials(operating.deployment) as credentials:
        await credentials.owner(found.id, email=user or "", role=role or "")


def _on_accounts(
    work: "Callable[[Accounts, Owner | None], Awaitable[_T]]",
    tenant: str | None,
    module: str,
    user: str | None,
    role: str | None,
) -> _T:
    """Run `work` with the module's accounts in the tenant, and with the owner if one is named."""

    async def run(settings: "Settings", report: "Report") -> _T:
        from gateway.cli.tenancy import the_tenant
        from gateway.single.accounts import opened_accounts
        from gateway.single.operator import operator

        async with operator(settings, report) as operating:
            found = the_module(operating.catalogue, module)
            the_vendor(found)
            company = await the_tenant(operating, tenant)
            async with opened_accounts(operating, settings, company.id, found) as accounts:
                owner = None
                if user or role:
                    owner = await accounts.credentials.owner(company.id, email=user or "", role=role or "")
                report(f"Asking {found.title}")
                return await work(accounts, owner)

    return locally(run)


def _own(user: str | None) -> "Callable[[Api], None]":
    def check(api: "Api") -> None:
        from gateway.cli.remote.credentials import check_owner

        check_owner(api, user)

    return check


def _stored(stored: "Stored", whose: str, module: str, *, tested: bool) -> "Mapping[str, Any]":
    before = stored.before
    if not tested:
        note("Note: the vendor was not asked, so nobody knows yet whether this secret works: mcpist credential test")
    if not stored.service_on:
        note(f"Note: {module} is off for this tenant, and nobody can use it: mcpist service enable {module}")
    return {
        "module": module,
        "owner": whose,
        "account": stored.account,
        "tested": tested,
        "replaced": before is not None,
        "previous_account": before.account if before else None,
    }


def _tell_stored(document: "Mapping[str, Any]") -> None:
    now, before = document["account"], document["previous_account"]
    account = f", account {now}" if now else ""
    earlier = before if before != now else ""
    instead = f" It replaces one of {earlier}." if earlier else " It replaces the one before."
    say(f"Stored {document['module']} for {document['owner']}{account}." + (instead if document["replaced"] else ""))


def _document(one: "StoredCredential | CredentialView") -> dict[str, Any]:
    return {
        "module": one.module,
        "owner": one.owner,
        "kind": one.kind,
        "type": one.type,
        "provider": one.provider,
        "account": one.account,
        "state": STATES.get(one.state, one.state),
        "cause": one.cause,
        "since": one.updated_at,
        "last_used_at": one.last_used_at,
        "created_at": one.created_at,
    }
