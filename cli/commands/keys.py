"""`mcpist keys`: the keys that stored credentials are sealed with, and those that sign access tokens. The keys
themselves are never shown."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from cli.commands import key_changes
from cli.failures import CommandExit
from cli.options import JsonOption, create_group
from cli.output import print_line, print_note, print_result, print_table
from cli.runner import run_api_command, run_on_data_folder

if TYPE_CHECKING:
    from broker.authorization_server.signing_key_store import SigningKeyInfo
    from cli.client.admin_api import AdminApiClient
    from server.diagnostics.vault_key_report import VaultKeys
    from server.operator_context import OperatorContext

app = create_group("Keys that stored credentials are sealed with, and keys that sign access tokens.")
signing = create_group("Keys that sign access tokens.")
app.add_typer(signing, name="signing")
key_changes.register(app)


@app.command("status", epilog="Example: mcpist keys status --json")
def status(as_json: JsonOption = False) -> None:
    """Show which keys are there, which is active, and what needs each.

    Exit code 1 if one is missing, or its keeper cannot be asked.
    """

    def call_api(api: "AdminApiClient") -> "VaultKeys":
        from cli.client.diagnostics import fetch_keys

        return fetch_keys(api)

    keys = run_api_command(call_api, needs_tenant=False)
    print_result(
        as_json, {"healthy": keys.healthy, **asdict(keys), "file": str(keys.file)}, lambda: _print_vault_keys(keys)
    )
    if not keys.healthy:
        raise CommandExit(1)


@signing.command("list", epilog="Example: mcpist keys signing list --json")
def list_(as_json: JsonOption = False) -> None:
    """Show the signing keys: the one that signs, the one to follow, and those whose tokens may still be about."""

    async def work(context: "OperatorContext") -> "list[SigningKeyInfo]":
        from server.operator_signing_keys import open_signing_key_store_without_keys

        async with open_signing_key_store_without_keys(context.deployment) as store:
            return await store.list()

    keys = run_on_data_folder(work)
    print_result(as_json, [asdict(key) for key in keys], lambda: _print_signing_keys(keys))


@signing.command("rotate", epilog="Example: mcpist keys signing rotate")
def rotate(
    compromised: Annotated[
        bool, typer.Option("--compromised", help="Others may know the keys: trust none of them from now on.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Sign with the next key from now on. Nobody notices: the old one counts until its last token has expired.

    With --compromised all keys are replaced at once. Every access token stops counting within a second, and clients get
    new ones by themselves.
    """

    async def work(context: "OperatorContext") -> str:
        from server.bootstrap import OPERATOR_ACTOR
        from server.operator_signing_keys import open_signing_key_store

        async with open_signing_key_store(context.deployment) as store:
            return await (store.replace_all(OPERATOR_ACTOR) if compromised else store.rotate(OPERATOR_ACTOR))

    kid = run_on_data_folder(work)
    print_result(as_json, {"signing": kid}, lambda: print_line(f"Access tokens are signed with {kid}."))
    if compromised:
        print_note("Every access token from before has stopped counting; clients get new ones by their refresh tokens.")


def _print_signing_keys(keys: "list[SigningKeyInfo]") -> None:
    columns = ("Key", "State", "Counts", "Made", "Signs since", "Until")
    rows = [(key.kid, key.state, key.published, key.created_at, key.activated_at, key.retired_at) for key in keys]
    print_table(columns, rows, empty="No signing key yet: the first start makes one.")


def _print_vault_keys(vault_keys: "VaultKeys") -> None:
    columns = ("Key", "Active", "Needed", "Usable", "Tenants", "Data keys", "Signing keys", "Found")
    rows = [
        (key.kek_id, key.active, key.in_use, key.usable, key.tenants, key.data_keys, key.signing_keys, key.message)
        for key in vault_keys.keys
    ]
    print_table(columns, rows, empty="No key yet: the first start makes one.")
    if vault_keys.to_rewrap or vault_keys.to_reencrypt:
        print_line(
            f"\n{vault_keys.to_rewrap} data and signing keys are not wrapped by the active key: mcpist keys rewrap"
        )
        print_line(f"{vault_keys.to_reencrypt} secrets are sealed by an older data key: mcpist keys reencrypt")
    if vault_keys.error:
        print_line(f"\n{vault_keys.error}")
    if "file" in vault_keys.key_providers:
        print_line(
            f"\nThe keys are in {vault_keys.file}. Copy that file, and keep the copy apart from the backups of the "
            "database: together they open every stored credential, and without the keys none can be opened."
        )
    else:
        print_line(f"\nThe keys are kept by {', '.join(vault_keys.key_providers)}.")
