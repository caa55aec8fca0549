"""The vault's keys as the operator sees them. Nothing is made, no secret is opened."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from broker.vault.key_checks import KeyState, count_data_keys, count_deployment_keys, list_key_states
from broker.vault.reencryption import count_pending_secrets
from core.bilingual_text import say
from core.db import Database
from core.directory.tenants import list_tenants
from core.errors import Unavailable
from server.deployment import Deployment
from server.role_database import BROKER_ROLE, open_role_database
from server.vault_keys import get_key_file_path, open_key_provider


@dataclass(frozen=True, slots=True)
class KeyReport:
    """One key-encryption key. `tenants` is the number of tenants whose data keys it wraps, `data_keys` that of those
    keys, `signing_keys` that of the keys that sign access tokens and of secrets of the deployment's settings. It is
    `in_use` as soon as it has wrapped one, `usable` if it is available and is the one that did."""

    kek_id: str
    active: bool
    in_use: bool
    available: bool
    usable: bool
    tenants: int
    data_keys: int
    signing_keys: int
    message: str

    @property
    def healthy(self) -> bool:
        return self.usable or not self.in_use


@dataclass(frozen=True, slots=True)
class VaultKeys:
    """Keys by id, and their providers; `error` is what keeps the providers from working now, if anything.

    `to_rewrap` are the data keys and signing keys that another key than the active one wraps, `to_reencrypt` the
    secrets under another data key than their tenant's newest.
    """

    file: Path
    key_providers: tuple[str, ...]
    keys: tuple[KeyReport, ...]
    error: str
    to_rewrap: int = 0
    to_reencrypt: int = 0

    @property
    def healthy(self) -> bool:
        return not self.error and all(key.healthy for key in self.keys)


async def inspect_vault_keys(deployment: Deployment, console: Database) -> VaultKeys:
    """Return every key that is available or needed.

    Raises:
        core.errors.Invalid: the key file can be read by others, or is damaged.
    """
    path, provider_names = get_key_file_path(deployment), deployment.key_providers.names
    async with (
        open_key_provider(deployment, make=False) as keys,
        open_role_database(deployment, BROKER_ROLE, max_connections=2) as broker,
    ):
        problem = await keys.find_problem()
        try:
            states = await list_key_states(broker, keys)
        except Unavailable as error:
            return VaultKeys(path, provider_names, (), problem or str(error))
        tenants, wrapped_keys, pending_secrets = Counter[str](), Counter[str](), 0
        for tenant in await list_tenants(console):
            for kek_id, count in (await count_data_keys(broker, tenant.id)).items():
                tenants[kek_id] += 1
                wrapped_keys[kek_id] += count
            pending_secrets += await count_pending_secrets(broker, tenant.id)
        signing = await count_deployment_keys(broker)
    return VaultKeys(
        path,
        provider_names,
        tuple(
            KeyReport(
                state.kek_id, state.active, state.in_use, state.available, state.available and state.is_genuine,
                tenants[state.kek_id], wrapped_keys[state.kek_id], signing.get(state.kek_id, 0),
                _describe_key_state(state, path),
            )
            for state in states
        ),
        problem,
        sum(wrapped_keys[state.kek_id] + signing.get(state.kek_id, 0) for state in states if not state.active),
        pending_secrets,
    )  # fmt: skip


def _describe_key_state(state: KeyState, path: Path) -> str:
    if not state.available:
        return say(
            "missing: restore it to {path} from your copy of the keys, or name its key provider in MCPIST_KEYS",
            "ありません。鍵のコピーから {path} に復元するか、鍵プロバイダーを MCPIST_KEYS に指定してください",
            path=path,
        )
    if not state.is_genuine:
        return say(
            "not the key that credentials were encrypted with: restore the right one to {path}",
            "認証情報を暗号化した鍵ではありません。正しい鍵を {path} に復元してください",
            path=path,
        )
    return say("available and correct", "正しい鍵があります")
