"""The files that a start reads. Each is read by one function, which the start and the doctor share."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from broker.http.gateway_keys import Gateways, load_private, load_public, make_pair
from broker.identity.settings import FILE as IDENTITY
from broker.identity.settings import IdentitySettings
from broker.identity.settings import load as load_identity
from broker.notices.settings import FILE as NOTICES
from broker.notices.settings import NoticeSettings
from broker.notices.settings import load as load_notices
from broker.vault.key_file import load as load_keys
from core.errors import Invalid
from core.migrations import LOGIN_ROLES
from core.settings import Settings
from gateway.deployment import DIGEST, DIGEST_KEY, KEYS, PASSWORDS, PEPPERS, VAULT_KEYS, read_kept

GATEWAY_KEY = "gateway.pem"
GATEWAYS = "gateways.pem"


@dataclass(frozen=True, slots=True)
class StartFile:
    """A file that a start reads; `check` is what the doctor calls it. `read` raises Invalid if it is of no use."""

    check: str
    path: Path
    read: Callable[[], object]


def start_files(settings: Settings) -> tuple[StartFile, ...]:
    """Every file that `mcpist up`, `gateway` or `broker` reads, but for the database's own and the deployment's id."""
    keys = settings.home / KEYS
    kept = {PASSWORDS: LOGIN_ROLES, DIGEST_KEY: (DIGEST,)}
    secret = {PEPPERS: load_keys} | ({VAULT_KEYS: load_keys} if "file" in settings.keys else {})
    private, public = settings.gateway_key or keys / GATEWAY_KEY, settings.broker_gateways or keys / GATEWAYS
    found = (
        StartFile("identity settings", _identity(settings), partial(identity_settings, settings)),
        StartFile("notice settings", _notices(settings), partial(notice_settings, settings)),
        *(StartFile("keys", keys / name, partial(read_kept, keys / name, names)) for name, names in kept.items()),
        *(StartFile("keys", keys / name, partial(read, keys / name)) for name, read in secret.items()),
        StartFile("gateway keys", private, partial(load_private, private)),
        StartFile("gateway keys", public, partial(load_public, public)),
    )
    named = {settings.identity_file, settings.notices_file, settings.gateway_key, settings.broker_gateways}
    return tuple(one for one in found if one.path in named or one.path.exists())


def identity_settings(settings: Settings) -> IdentitySettings:
    """How people and clients come in; the defaults where there is no file.

    Raises:
        Invalid: the file is wrong, others may read it, or the one that the settings name is not there.
    """
    _check_named(settings.identity_file, "MCPIST_IDENTITY_FILE")
    return load_identity(_identity(settings))


def notice_settings(settings: Settings) -> NoticeSettings:
    """How owners of broken accounts are told; nobody is told where there is no file.

    Raises:
        Invalid: as :func:`identity_settings`.
    """
    _check_named(settings.notices_file, "MCPIST_NOTICES_FILE")
    return load_notices(_notices(settings))


def served_gateways(settings: Settings) -> Gateways:
    """The gateways that a broker serves; without a file of its own it makes one, with the key of a gateway beside it.

    Raises:
        Invalid: the file is of no use.
    """
    if settings.broker_gateways is not None:
        return Gateways(settings.broker_gateways)
    keys = settings.home / KEYS
    make_pair(keys / GATEWAY_KEY, keys / GATEWAYS)
    return Gateways(keys / GATEWAYS)


def _identity(settings: Settings) -> Path:
    return settings.identity_file or settings.home / IDENTITY


def _notices(settings: Settings) -> Path:
    return settings.notices_file or settings.home / NOTICES


def _check_named(path: Path | None, variable: str) -> None:
    if path is not None and not path.exists():
        raise Invalid(f"{path}, which {variable} names, does not exist")
