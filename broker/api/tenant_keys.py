"""``/tenant-keys``: keys of vendors that belong to the whole tenant, such as those of embedding services. No answer
has a key."""

from datetime import datetime
from typing import Annotated, Literal
from urllib.parse import urlsplit

from fastapi import Path
from pydantic import Field, SecretStr

from broker.api.connect_dependencies import ConnectDeps
from broker.tenant_keys.key_kinds import MAX_KEY_LENGTH
from broker.tenant_keys.key_store import TenantKeyStatus
from core.api.app import create_router
from core.api.dependencies import AdminRead, AdminWrite, RecentlySignedInAdmin
from core.api.schemas import RequestModel, ResponseModel
from core.secret import Secret

routes = create_router("tenant keys")

KindPath = Annotated[str, Path(max_length=40, description="Kind of the key, such as `voyage`.")]


class TenantKeyView(ResponseModel):
    """A kind of key, and the tenant's key of it without the key itself."""

    kind: str = Field(description="Kind of the key, such as `voyage`.")
    title: str = Field(description="Name of the vendor.")
    hosts: list[str] = Field(
        description="Hosts that the key is sent to, with the texts of collections that use a model of this vendor."
    )
    manage_url: str = Field(description="Page of the vendor on which its owner makes and ends keys.")
    stored: bool = Field(description="True if the tenant has a key of this kind.")
    created_at: datetime | None = Field(description="Time at which the first key was stored; null without one.")
    updated_at: datetime | None = Field(description="Time at which this key was stored; null without one.")
    last_used_at: datetime | None = Field(
        description="Time of the latest use, exact to a minute; null if it was never used."
    )


class TenantKeyList(ResponseModel):
    """Every kind of key."""

    keys: list[TenantKeyView] = Field(description="Kinds, by name.")


class TenantKeyUpsert(RequestModel):
    """A key to store."""

    secret: Annotated[SecretStr, Field(min_length=1, max_length=MAX_KEY_LENGTH)] = Field(
        description="Secret key of the vendor."
    )
    despite_failures: bool = Field(
        default=False,
        description="True to store the key although the trial fails, such as while its vendor is away.",
    )


class TenantKeyTrialView(ResponseModel):
    """Result of the trial of a key at its vendor."""

    outcome: Literal["ok", "refused", "unknown", "untried"] = Field(
        description="Outcome: `ok` if the vendor takes the key; `refused` if it does not; `unknown` if it could not be "
        "asked or answered otherwise; `untried` if this kind has no trial."
    )
    message: str = Field(description="Explanation, and the remedy of a failure.")
    message_ja: str = Field(description="Japanese text of `message`.")


class SavedTenantKeyView(ResponseModel):
    """The stored key without the key itself, and the trial before."""

    key: TenantKeyView = Field(description="Key as it is stored, without its secret.")
    trial: TenantKeyTrialView = Field(description="Trial of the key at its vendor.")


@routes.get("/tenant-keys")
async def list_tenant_keys(caller: AdminRead, connect: ConnectDeps) -> TenantKeyList:
    """List the kinds of tenant keys, and of which the tenant has a key."""
    keys = await connect.tenant_keys.list(caller.tenant_id)
    return TenantKeyList(keys=[_build_view(key) for key in keys])


@routes.put("/tenant-keys/{tenant_key_kind}")
async def put_tenant_key(
    tenant_key_kind: KindPath, body: TenantKeyUpsert, caller: RecentlySignedInAdmin, connect: ConnectDeps
) -> SavedTenantKeyView:
    """Store or replace the tenant's key of a kind.

    The vendor is asked first whether it takes the key, by embedding one letter, and nothing is stored if it does not.
    Everybody of the tenant works with the key, and texts are sent to the vendor with it, so a sign-in within the last
    ten minutes is required. It counts at once.
    """
    with connect.draft_limits.track(str(caller.tenant_id)):
        saved, trial = await connect.tenant_keys.put(
            caller.actor,
            caller.tenant_id,
            tenant_key_kind,
            Secret(body.secret.get_secret_value()),
            despite_failures=body.despite_failures,
        )
    return SavedTenantKeyView(key=_build_view(saved), trial=TenantKeyTrialView.model_validate(trial))


@routes.delete("/tenant-keys/{tenant_key_kind}", status_code=204)
async def remove_tenant_key(tenant_key_kind: KindPath, caller: AdminWrite, connect: ConnectDeps) -> None:
    """Remove the tenant's key of a kind.

    MCPist uses it no longer. It stays valid at its vendor until its owner ends it there, at `manage_url`.
    """
    await connect.tenant_keys.remove(caller.actor, caller.tenant_id, tenant_key_kind)


def _build_view(key: TenantKeyStatus) -> TenantKeyView:
    return TenantKeyView(
        kind=key.kind.name,
        title=key.kind.title,
        hosts=[urlsplit(origin).netloc for origin in key.kind.origins],
        manage_url=key.kind.manage_url,
        stored=key.stored,
        created_at=key.created_at,
        updated_at=key.updated_at,
        last_used_at=key.last_used_at,
    )
