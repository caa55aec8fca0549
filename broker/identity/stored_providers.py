"""Identity providers in the database: what may be stored, tried before it is, and shown beside those of the file."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from pydantic import ValidationError

from broker.identity.provider_trial import ProviderCheck, ProviderTrial
from broker.identity.settings import ProviderSettings
from broker.private_toml import build_invalid
from broker.vault.deployment_settings import (
    MAX_SECRET_LENGTH,
    DeploymentSetting,
    DeploymentSettingsStore,
    get_setting_version,
)
from core.directory.audit_trail import Actor
from core.directory.versions import check_version
from core.errors import Conflict, Invalid, InvalidFields, NotFound
from core.secret import Secret

KIND = "identity_provider"
DESTINATION_KEYS = ("kind", "issuer", "tenant", "base_url", "api_url", "client_id")
"""What decides where the client secret is sent, and for which client: the stored one goes nowhere else."""


@dataclass(frozen=True, slots=True)
class ProviderOverview:
    """A provider as its operator sees it; the secret is not part of it. `in_use` is False for a stored one whose name
    the file has too. Times and version are None for those of the file."""

    settings: ProviderSettings
    source: Literal["file", "database"]
    in_use: bool
    created_at: datetime | None = None
    updated_at: datetime | None = None
    version: int | None = None


@dataclass(frozen=True, slots=True)
class ProviderChange:
    """What an operator gives. Without a `secret` the stored one stays, if it goes where it went before."""

    id: str
    values: Mapping[str, str]
    secret: Secret | None = None


class ProviderAdministration:
    """The identity providers of the deployment in the hands of its operator. `configured` are those of the file."""

    def __init__(
        self, store: DeploymentSettingsStore, configured: tuple[ProviderSettings, ...], trial: ProviderTrial
    ) -> None:
        self._store = store
        self._configured = configured
        self._trial = trial

    async def list(self) -> list[ProviderOverview]:
        """Those of the file, then the stored ones, by name."""
        of_file = {one.id for one in self._configured}
        stored = [
            _build_overview(row, in_use=row.name not in of_file) for row in await self._store.list("identity_provider")
        ]
        return [*(ProviderOverview(one, "file", in_use=True) for one in self._configured), *stored]

    async def get(self, provider_id: str) -> ProviderOverview:
        """The stored provider of that id, else that of the file.

        Raises:
            NotFound: there is neither.
        """
        of_file = next((one for one in self._configured if one.id == provider_id), None)
        row = await self._store.find("identity_provider", provider_id)
        if row is not None:
            return _build_overview(row, in_use=of_file is None)
        if of_file is None:
            raise NotFound("there is no identity provider of this id")
        return ProviderOverview(of_file, "file", in_use=True)

    async def test(self, change: ProviderChange) -> tuple[ProviderCheck, ...]:
        """Try a provider; nothing is stored.

        Raises:
            Invalid: the values are no provider's, or the secret is missing.
        """
        before = await self._store.find("identity_provider", change.id)
        settings, _ = await self._resolve(change, before)
        return await self._trial.run(settings)

    async def put(
        self,
        actor: Actor,
        change: ProviderChange,
        *,
        despite_failures: bool = False,
        expected_version: int | None = None,
    ) -> tuple[ProviderOverview, tuple[ProviderCheck, ...]]:
        """Try a provider and store it. With `despite_failures` a check that fails is no obstacle. The version of one
        that is not stored yet is 0.

        Raises:
            VersionConflict: the stored version is not the expected one.
            Invalid: a check failed, the values are no provider's, or the secret is missing; nothing is stored.
            Conflict: the file has a provider of this name, or somebody else changed it meanwhile.
        """
        if change.id in {one.id for one in self._configured}:
            raise Conflict(f"{change.id} is a provider of identity.toml: change it there, or take another name")
        before = await self._store.find("identity_provider", change.id)
        check_version(get_setting_version(before), expected_version)
        settings, secret = await self._resolve(change, before)
        checks = await self._trial.run(settings)
        failed = [f"{check.check}: {check.message}" for check in checks if check.outcome == "failed"]
        if failed and not despite_failures:
            raise Invalid("the provider was not saved, because a check failed. " + "; ".join(failed))
        row = await self._store.put(actor, "identity_provider", change.id, _get_values(settings), secret, before)
        return _build_overview(row, in_use=True), checks

    async def remove(self, actor: Actor, provider_id: str) -> None:
        """Forget a stored provider; who is signed in stays so.

        Raises:
            Conflict: the file names it.
            NotFound: there is none.
        """
        try:
            await self._store.remove(actor, "identity_provider", provider_id)
        except NotFound:
            if provider_id in {one.id for one in self._configured}:
                raise Conflict(f"{provider_id} is a provider of identity.toml: remove it there") from None
            raise

    async def _resolve(
        self, change: ProviderChange, before: DeploymentSetting | None
    ) -> tuple[ProviderSettings, Secret]:
        if change.secret is not None:
            if len(change.secret.reveal()) > MAX_SECRET_LENGTH:
                raise InvalidFields({"client_secret": f"give at most {MAX_SECRET_LENGTH} characters"})
            return build_stored_settings(change.id, change.values, change.secret), change.secret
        stored = await self._store.unwrap_secret(before) if before is not None else None
        if before is None or stored is None:
            raise _build_missing_secret("give the secret of the client at the provider")
        settings = build_stored_settings(change.id, change.values, stored)
        if any(_get_values(settings).get(key) != before.settings.get(key) for key in DESTINATION_KEYS):
            raise _build_missing_secret(
                "the stored secret is sent to no other provider, and for no other client; give it again"
            )
        return settings, stored


def _build_missing_secret(remedy: str) -> Invalid:
    return InvalidFields({"client_secret": remedy}, f"client_secret is missing: {remedy}")


def build_stored_settings(name: str, values: Mapping[str, Any], secret: Secret | None) -> ProviderSettings:
    """The settings of a stored provider.

    Raises:
        Invalid: they are none; the text names each key and never a value.
    """
    given = {key: value for key, value in values.items() if value != ""}
    try:
        return ProviderSettings.model_validate(
            {**given, "id": name, "client_secret": "" if secret is None else secret.reveal()}
        )
    except ValidationError as error:
        raise build_invalid(error) from None


def _get_values(settings: ProviderSettings) -> Mapping[str, str]:
    """What is stored of it, and may be read."""
    return settings.model_dump(exclude={"id", "client_secret"})


def _build_overview(row: DeploymentSetting, *, in_use: bool) -> ProviderOverview:
    # The secret is not needed for what is shown, and a key that is away must not hide the list.
    settings = build_stored_settings(row.name, row.settings, Secret("-"))
    return ProviderOverview(settings, "database", in_use, row.created_at, row.updated_at, row.version)
