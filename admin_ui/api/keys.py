"""``/keys``: how the vault's keys stand, for the operator. No answer has a key."""

from admin_ui.api.admin_dependencies import AdminDeps
from core.api.app import create_router
from core.api.dependencies import OperatorRead
from core.api.schemas import ResponseModel

routes = create_router("keys")


class KeyView(ResponseModel):
    """One key-encryption key, and what hangs on it: data keys of how many tenants, and keys that sign access tokens.
    `message` says what to do about one that is in use and not usable."""

    kek_id: str
    active: bool
    in_use: bool
    available: bool
    usable: bool
    tenants: int
    data_keys: int
    signing_keys: int
    message: str


class KeysView(ResponseModel):
    """`key_providers` keep the keys, the first one's wrap; `error` is what keeps them from working now. `to_rewrap` are
    the data keys and signing keys that another key than the active one wraps, `to_reencrypt` the secrets that are
    sealed under another data key than their tenant's newest: both are 0 when a change of keys is through."""

    healthy: bool
    file: str
    key_providers: list[str]
    keys: list[KeyView]
    error: str
    to_rewrap: int
    to_reencrypt: int


@routes.get("/keys")
async def show_keys(caller: OperatorRead, parts: AdminDeps) -> KeysView:
    """Which keys there are, what needs each, and how far a change of keys is."""
    return KeysView.model_validate(await parts.checks.check_keys())
