"""The broker inside the gateway's own process: its vault opened, on its own database role."""

import contextlib
from collections.abc import AsyncGenerator

from broker.direct import DirectBroker
from broker.identity.api_tokens import ApiTokens
from broker.leases import Leases
from broker.vault.keys import LocalKeys
from broker.vault.vault import open_vault
from gateway.catalogue import Catalogue
from gateway.deployment import KEYS, Deployment
from gateway.single.operator import BROKER, connected, now

CONNECTIONS = 5
VAULT_KEYS = "vault-kek.json"


@contextlib.asynccontextmanager
async def direct_broker(
    deployment: Deployment, tokens: ApiTokens, catalogue: Catalogue
) -> AsyncGenerator[DirectBroker]:
    """Open the vault, whose key file is made at the first start.

    Raises:
        core.errors.Invalid: a key is missing, wrong or readable by others; the text names it.
    """
    keys = LocalKeys.from_file(deployment.home / KEYS / VAULT_KEYS)
    async with connected(deployment, BROKER, most=CONNECTIONS) as database:
        vault = await open_vault(database, keys, clock=now)
        yield DirectBroker(tokens, Leases(tokens, database, vault, vendor_tools(catalogue), clock=now))


def vendor_tools(catalogue: Catalogue) -> dict[tuple[str, str], bool]:
    """Whether each tool only reads, for the modules that have a vendor: all that the broker knows of modules."""
    return {
        (module.name, entry.tool.name): entry.tool.hints.read_only
        for module in catalogue.modules
        if module.vendor is not None
        for entry in catalogue.tools[module.name]
    }
