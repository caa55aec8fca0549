"""The vault's keys as the operator sees them. Nothing is made, nothing is opened."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from broker.vault.key_usage import data_keys
from broker.vault.keys import key_states
from core.db import Database
from core.directory.tenants import list_tenants
from gateway.deployment import Deployment
from gateway.single.operator import BROKER, connected
from gateway.single.vault_access import key_file, keys_at_hand


@dataclass(frozen=True, slots=True)
class KeyReport:
    """One key-encryption key. `tenants` is the number of tenants whose data keys it wraps, `data_keys` that of those
    keys. It is `needed` as soon as it has wrapped one, `usable` if it is at hand and is the one that did."""

    kek_id: str
    active: bool
    needed: bool
    at_hand: bool
    usable: bool
    tenants: int
    data_keys: int
    told: str

    @property
    def healthy(self) -> bool:
        return self.usable or not self.needed


@dataclass(frozen=True, slots=True)
class VaultKeys:
    """All keys, by id, and the file that they are kept in."""

    file: Path
    keys: tuple[KeyReport, ...]

    @property
    def healthy(self) -> bool:
        return all(key.healthy for key in self.keys)


async def vault_keys(deployment: Deployment, console: Database) -> VaultKeys:
    """Every key that is at hand or needed.

    Raises:
        core.errors.Invalid: the key file can be read by others, or is damaged.
    """
    path = key_file(deployment)
    keys = keys_at_hand(path)
    tenants, wrapped = Counter[str](), Counter[str]()
    async with connected(deployment, BROKER, most=2) as broker:
        states = await key_states(broker, keys)
        for tenant in await list_tenants(console):
            for kek_id, count in (await data_keys(broker, tenant.id)).items():
                tenants[kek_id] += 1
                wrapped[kek_id] += count
    found = tuple(
        KeyReport(
            state.kek_id, state.active, state.used, state.at_hand, state.at_hand and state.right,
            tenants[state.kek_id], wrapped[state.kek_id], _told(state.at_hand, state.right, path),
        )
        for state in states
    )  # fmt: skip
    return VaultKeys(path, found)


def _told(at_hand: bool, right: bool, path: Path) -> str:
    if not at_hand:
        return f"missing: bring it back into {path} from your copy of the keys"
    if not right:
        return f"not the key of that id that credentials were sealed with: bring the right one back into {path}"
    return "at hand, and the right one"
