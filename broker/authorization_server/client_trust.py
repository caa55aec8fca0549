"""Which clients come in that no administrator has registered: by identity.toml, else as an operator has stored it.

What is stored is read again after a second, so a change counts on every process without a restart.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

from pydantic import ValidationError

from broker.identity.settings import ClientTrust
from broker.private_toml import build_invalid
from broker.vault.deployment_settings import DeploymentSetting, DeploymentSettingsStore, get_setting_version
from core.directory.audit_trail import Actor
from core.directory.versions import check_version
from core.errors import Conflict, Invalid, Unavailable

KEPT_SECONDS = 1.0
NAME = "policy"


class ClientTrustReader(Protocol):
    """Has the trust in clients that counts now."""

    async def get(self) -> ClientTrust: ...


@dataclass(frozen=True, slots=True)
class FixedClientTrust:
    """Trust that does not change while the process runs. Implements :class:`ClientTrustReader`."""

    trust: ClientTrust

    async def get(self) -> ClientTrust:
        return self.trust


TRUSTS_ALL = FixedClientTrust(ClientTrust(dynamic_registration=True))


class StoredClientTrust:
    """Trust as it is stored now. While the database is away, what was read last counts. Implements
    :class:`ClientTrustReader`; `seconds` never go back."""

    def __init__(self, store: DeploymentSettingsStore, *, seconds: Callable[[], float]) -> None:
        self._store = store
        self._seconds = seconds
        self._kept: ClientTrust | None = None
        self._read_at = 0.0

    async def get(self) -> ClientTrust:
        now = self._seconds()
        if self._kept is None or now >= self._read_at + KEPT_SECONDS:
            try:
                self._kept = _build_trust(await self._store.find("client_trust", NAME))
            except Unavailable:
                if self._kept is None:
                    raise
            self._read_at = now
        return self._kept


def build_trust_reader(
    of_file: ClientTrust | None, store: DeploymentSettingsStore, *, seconds: Callable[[], float]
) -> ClientTrustReader:
    """The trust of the file where it has one, else the stored one."""
    return StoredClientTrust(store, seconds=seconds) if of_file is None else FixedClientTrust(of_file)


@dataclass(frozen=True, slots=True)
class ClientTrustOverview:
    """The trust that counts, and where it comes from. `version` is that of what is stored, 0 without it."""

    trust: ClientTrust
    source: Literal["file", "database", "default"]
    version: int
    updated_at: datetime | None = None


class ClientTrustAdministration:
    """The trust in clients in the hands of the deployment's operator. `of_file` is that of identity.toml, if any."""

    def __init__(self, store: DeploymentSettingsStore, of_file: ClientTrust | None) -> None:
        self._store = store
        self._of_file = of_file

    async def get(self) -> ClientTrustOverview:
        """Get the trust that counts now."""
        return self._build_overview(await self._store.find("client_trust", NAME))

    async def put(
        self, actor: Actor, dynamic_registration: bool, hosts: list[str], *, expected_version: int | None = None
    ) -> ClientTrustOverview:
        """Store another trust.

        Raises:
            VersionConflict: the stored version is not the expected one.
            Invalid: a host has the wrong form.
            Conflict: identity.toml has it, or somebody else changed it at the same moment.
        """
        if self._of_file is not None:
            raise Conflict("[authorization_server] of identity.toml says which clients are trusted: change it there")
        values = {"dynamic_registration": dynamic_registration, "client_metadata_hosts": hosts}
        try:
            trust = ClientTrust.model_validate(values)
        except ValidationError as error:
            raise build_invalid(error) from None
        before = await self._store.find("client_trust", NAME)
        check_version(get_setting_version(before), expected_version)
        stored = trust.model_dump(mode="json")
        return self._build_overview(await self._store.put(actor, "client_trust", NAME, stored, None, before))

    async def remove(self, actor: Actor) -> None:
        """Go back to the defaults, or to those of the file.

        Raises:
            NotFound: nothing is stored.
        """
        await self._store.remove(actor, "client_trust", NAME)

    def _build_overview(self, row: DeploymentSetting | None) -> ClientTrustOverview:
        version, updated_at = (0, None) if row is None else (row.version, row.updated_at)
        if self._of_file is not None:
            return ClientTrustOverview(self._of_file, "file", version, updated_at)
        return ClientTrustOverview(_build_trust(row), "default" if row is None else "database", version, updated_at)


def _build_trust(row: DeploymentSetting | None) -> ClientTrust:
    if row is None:
        return ClientTrust()
    try:
        return ClientTrust.model_validate(row.settings)
    except ValidationError:
        raise Invalid("the stored trust in clients cannot be read; store it again") from None
