"""``/keys``: how the vault's keys stand, for the operator. No answer has a key."""

from pydantic import Field

from admin_ui.api.admin_dependencies import AdminDeps
from core.api.app import create_router
from core.api.dependencies import OperatorRead
from core.api.schemas import ResponseModel

routes = create_router("keys")


class KeyView(ResponseModel):
    """A key-encryption key."""

    kek_id: str = Field(description="Identifier of the key.")
    active: bool = Field(description="True for the key that wraps new data keys.")
    in_use: bool = Field(description="True if the key has wrapped a data key or a signing key.")
    available: bool = Field(description="True if a key provider holds the key.")
    usable: bool = Field(description="True if the key is available and genuine.")
    tenants: int = Field(description="Number of tenants whose data keys it wraps.")
    data_keys: int = Field(description="Number of data keys that it wraps.")
    signing_keys: int = Field(
        description="Number of signing keys, and of secrets of the deployment's settings, that it wraps."
    )
    message: str = Field(description="State of the key, and the action to take.")


class KeysView(ResponseModel):
    """The key-encryption keys of the vault."""

    healthy: bool = Field(description="True if every key in use is usable.")
    file: str = Field(description="Path of the key file.")
    key_providers: list[str] = Field(description="Names of the key providers; the first one wraps new keys.")
    keys: list[KeyView] = Field(description="The keys, by identifier.")
    error: str = Field(description="Error of a key provider; empty if there is none.")
    to_rewrap: int = Field(description="Number of data keys and signing keys that the active key does not wrap.")
    to_reencrypt: int = Field(
        description="Number of secrets that are not encrypted under their tenant's newest data key."
    )


@routes.get("/keys")
async def show_keys(caller: OperatorRead, dependencies: AdminDeps) -> KeysView:
    """Get the state of the key-encryption keys.

    Shows how far a key rotation has come. Key material is never returned.
    """
    return KeysView.model_validate(await dependencies.checks.check_keys())
