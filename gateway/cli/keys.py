"""`mcpist keys`: the keys that stored credentials are sealed with. The keys themselves are never shown."""

from dataclasses import asdict
from typing import TYPE_CHECKING

from gateway.cli.failures import Stop
from gateway.cli.options import JsonOption, group
from gateway.cli.output import emit, say, table
from gateway.cli.session import administer

if TYPE_CHECKING:
    from gateway.single.operator import Operator
    from gateway.single.vault_keys import VaultKeys

app = group("Keys that stored credentials are sealed with.")


@app.command("status", epilog="Example: mcpist keys status --json")
def status(as_json: JsonOption = False) -> None:
    """Show which keys are there, which is active, and how many tenants need each; exit code 1 if one is missing."""

    async def work(operating: "Operator") -> "VaultKeys":
        from gateway.single.vault_keys import vault_keys

        return await vault_keys(operating.deployment, operating.console)

    found = administer(work)
    document = {"healthy": found.healthy, "file": str(found.file), "keys": [asdict(key) for key in found.keys]}
    emit(as_json, document, lambda: _print(found))
    if not found.healthy:
        raise Stop(1)


def _print(found: "VaultKeys") -> None:
    columns = ("Key", "Active", "Needed", "Usable", "Tenants", "Data keys", "Found")
    rows = [
        (key.kek_id, key.active, key.needed, key.usable, key.tenants, key.data_keys, key.told) for key in found.keys
    ]
    table(columns, rows, empty="No key yet: the first start makes one.")
    say(
        f"\nThe keys are in {found.file}. Copy that file, and keep the copy apart from the backups of the database: "
        "together they open every stored credential, and without the keys nobody opens any."
    )
