"""The files that a start reads. Each is read by one function, which the start and the doctor share."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from broker.identity.settings import IDENTITY_FILE as IDENTITY
from broker.identity.settings import IdentitySettings
from broker.identity.settings import load_identity_settings as load_identity
from broker.notifications.settings import SETTINGS_FILE as NOTICES
from broker.notifications.settings import NotificationSettings
from broker.notifications.settings import load_notification_settings as load_notices
from broker.rpc.gateway_keys import TrustedGateways, load_private_key, load_public_keys, make_key_pair
from broker.rpc.service_token import ServiceTokenSigner
from broker.vault.key_wrapping import load as load_keys
from core.config.settings import Settings
from core.errors import Invalid
from server.deployment import (
    DIGEST_KEY_FILE,
    DIGEST_MEMBER,
    KEYS_FOLDER,
    PASSWORDS_FILE,
    PEPPERS_FILE,
    ROLES_OF_EVERY_FILE,
    VAULT_KEYS_FILE,
    read_key_file_values,
)

GATEWAY_KEY_FILE = "gateway.pem"
GATEWAYS_FILE = "gateways.pem"
CONSOLE_KEY_FILE = "console.pem"
CONSOLES_FILE = "consoles.pem"
WORKER_KEY_FILE = "worker.pem"
WORKERS_FILE = "workers.pem"


@dataclass(frozen=True, slots=True)
class StartFile:
    """A file that a start reads; `check` is what the doctor calls it. `read` raises Invalid if it is of no use."""

    check: str
    path: Path
    read: Callable[[], object]


def list_start_files(settings: Settings) -> tuple[StartFile, ...]:
    """List every file that `mcpist up`, `gateway` or `broker` reads, but for the database's own and the deployment's
    id."""
    keys = settings.home / KEYS_FOLDER
    key_files = {PASSWORDS_FILE: ROLES_OF_EVERY_FILE, DIGEST_KEY_FILE: (DIGEST_MEMBER,)}
    secret = {PEPPERS_FILE: load_keys} | ({VAULT_KEYS_FILE: load_keys} if "file" in settings.keys else {})
    private, public = settings.gateway_key or keys / GATEWAY_KEY_FILE, settings.broker_gateways or keys / GATEWAYS_FILE
    console, consoles = (
        settings.console_key or keys / CONSOLE_KEY_FILE,
        settings.broker_consoles or keys / CONSOLES_FILE,
    )
    worker, workers = settings.worker_key or keys / WORKER_KEY_FILE, settings.broker_workers or keys / WORKERS_FILE
    files = (
        StartFile("identity settings", _get_identity_path(settings), partial(load_identity_settings, settings)),
        StartFile("notice settings", _get_notifications_path(settings), partial(load_notification_settings, settings)),
        *(
            StartFile("keys", keys / name, partial(read_key_file_values, keys / name, names))
            for name, names in key_files.items()
        ),
        *(StartFile("keys", keys / name, partial(read, keys / name)) for name, read in secret.items()),
        StartFile("gateway keys", private, partial(load_private_key, private)),
        StartFile("gateway keys", public, partial(load_public_keys, public)),
        StartFile("console keys", console, partial(load_private_key, console)),
        StartFile("console keys", consoles, partial(load_public_keys, consoles)),
        StartFile("worker keys", worker, partial(load_private_key, worker)),
        StartFile("worker keys", workers, partial(load_public_keys, workers)),
    )
    configured = {
        settings.identity_file,
        settings.notices_file,
        settings.gateway_key,
        settings.broker_gateways,
        settings.console_key,
        settings.broker_consoles,
        settings.worker_key,
        settings.broker_workers,
    }
    return tuple(file for file in files if file.path in configured or file.path.exists())


def load_identity_settings(settings: Settings) -> IdentitySettings:
    """Load the settings of sign-in and of the authorization server; the defaults where there is no file.

    Raises:
        Invalid: the file is wrong, others may read it, or the one that the settings name is not there.
    """
    _check_named_file(settings.identity_file, "MCPIST_IDENTITY_FILE")
    return load_identity(_get_identity_path(settings))


def load_notification_settings(settings: Settings) -> NotificationSettings:
    """Load the settings of notifications to owners of broken accounts; without the file none are sent.

    Raises:
        Invalid: as :func:`load_identity_settings`.
    """
    _check_named_file(settings.notices_file, "MCPIST_NOTICES_FILE")
    return load_notices(_get_notifications_path(settings))


def load_served_gateways(settings: Settings) -> TrustedGateways:
    """Load the gateways that a broker serves; without a file of its own it makes one, with the key of a gateway beside
    it.

    Raises:
        Invalid: the file is of no use.
    """
    if settings.broker_gateways is not None:
        return TrustedGateways(settings.broker_gateways)
    keys = settings.home / KEYS_FOLDER
    if not (keys / GATEWAYS_FILE).exists():
        make_key_pair(keys / GATEWAY_KEY_FILE, keys / GATEWAYS_FILE)
    return TrustedGateways(keys / GATEWAYS_FILE)


def load_served_consoles(settings: Settings) -> TrustedGateways | None:
    """Load the control planes that a broker serves; None where there is no file of them. Without settings of its own a
    broker makes one, with the key of a control plane beside it.

    Raises:
        Invalid: the file is of no use.
    """
    return _load_served(settings, settings.broker_consoles, CONSOLE_KEY_FILE, CONSOLES_FILE)


def load_served_workers(settings: Settings) -> TrustedGateways | None:
    """Load the workers that a broker serves, as :func:`load_served_consoles` does control planes."""
    return _load_served(settings, settings.broker_workers, WORKER_KEY_FILE, WORKERS_FILE)


def load_console_key(settings: Settings) -> ServiceTokenSigner:
    """Load the key of a control plane; on the data folder of a broker it is made.

    Raises:
        Invalid: the file is of no use.
    """
    return _load_key(settings, settings.console_key, CONSOLE_KEY_FILE, CONSOLES_FILE)


def load_worker_key(settings: Settings) -> ServiceTokenSigner:
    """Load the key of a worker, as :func:`load_console_key` does that of a control plane."""
    return _load_key(settings, settings.worker_key, WORKER_KEY_FILE, WORKERS_FILE)


def _load_served(settings: Settings, named: Path | None, private: str, public: str) -> TrustedGateways | None:
    if named is not None:
        return TrustedGateways(named)
    keys = settings.home / KEYS_FOLDER
    if settings.broker_gateways is not None and not (keys / public).exists():
        return None
    if not (keys / public).exists():
        make_key_pair(keys / private, keys / public)
    return TrustedGateways(keys / public)


def _load_key(settings: Settings, named: Path | None, private: str, public: str) -> ServiceTokenSigner:
    keys = settings.home / KEYS_FOLDER
    if named is None:
        make_key_pair(keys / private, keys / public)
    return ServiceTokenSigner(load_private_key(named or keys / private))


def _get_identity_path(settings: Settings) -> Path:
    return settings.identity_file or settings.home / IDENTITY


def _get_notifications_path(settings: Settings) -> Path:
    return settings.notices_file or settings.home / NOTICES


def _check_named_file(path: Path | None, variable: str) -> None:
    if path is not None and not path.exists():
        raise Invalid(f"{path}, which {variable} names, does not exist")
