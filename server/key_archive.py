"""The keys and settings files of a data folder in one encrypted file, beside a backup of the database.

The file is JSON: a salt of scrypt (RFC 7914), a nonce, and the files by name under AES-256-GCM. It holds no password of
a database role, which a restore makes anew, no private key of a gateway, control plane or worker, and no
`deployment-id`, by which a copy is known.
"""

import base64
import contextlib
import json
import os
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any, cast

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from broker.identity.settings import IDENTITY_FILE
from broker.notifications.settings import SETTINGS_FILE as NOTICES_FILE
from core.config.settings import Settings
from core.errors import Conflict, Invalid
from core.private_file import read_private, write_once
from core.secret import Secret
from server.deployment import DIGEST_KEY_FILE, KEYS_FOLDER, PEPPERS_FILE, VAULT_KEYS_FILE
from server.postgres.backup import stage_file
from server.start_files import CONSOLES_FILE, GATEWAYS_FILE, WORKERS_FILE

FORMAT = "mcpist-keys-1"
MAX_ARCHIVE_BYTES = 2**20
MIN_PASSPHRASE_LENGTH = 12
_COST, _BLOCK_SIZE, _PARALLELISM = 2**17, 8, 1
"""128 MiB and about half a second (OWASP, Password Storage Cheat Sheet: scrypt)."""
_SALT_BYTES, _NONCE_BYTES, _KEY_BYTES = 16, 12, 32


def read_key_files(settings: Settings) -> dict[str, str]:
    """Read what a restored deployment needs beside its database, by the name that each file has in a data folder.

    Raises:
        Invalid: a file that the deployment cannot do without is missing, or one can be read by others.
    """
    keys = settings.home / KEYS_FOLDER
    needed = [PEPPERS_FILE, DIGEST_KEY_FILE, *([VAULT_KEYS_FILE] if "file" in settings.keys else [])]
    optional = {
        f"{KEYS_FOLDER}/{GATEWAYS_FILE}": settings.broker_gateways or keys / GATEWAYS_FILE,
        f"{KEYS_FOLDER}/{CONSOLES_FILE}": settings.broker_consoles or keys / CONSOLES_FILE,
        f"{KEYS_FOLDER}/{WORKERS_FILE}": settings.broker_workers or keys / WORKERS_FILE,
        IDENTITY_FILE: settings.identity_file or settings.home / IDENTITY_FILE,
        NOTICES_FILE: settings.notices_file or settings.home / NOTICES_FILE,
    }
    files: dict[str, str] = {}
    for name in needed:
        try:
            files[f"{KEYS_FOLDER}/{name}"] = read_private(keys / name)
        except FileNotFoundError:
            raise Invalid(f"{keys / name} is missing; a backup of the keys without it would restore nothing") from None
    return files | {name: _read_text(path) for name, path in optional.items() if path.exists()}


def _read_text(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise Invalid(f"{path} cannot be read as text") from error


@contextlib.contextmanager
def back_up_keys(settings: Settings, target: Path | None, passphrase: Secret | None, *, force: bool) -> Generator[None]:
    """Write the keys into `target` after the block, which writes the database; nothing without a target.

    Raises:
        Conflict: the keys were changed meanwhile, so that they may not be those of the database's file.
        Invalid: the passphrase is too short, or see :func:`read_key_files`.
    """
    if target is None or passphrase is None:
        yield
        return
    files = read_key_files(settings)
    text = encrypt_key_files(files, passphrase)
    yield
    if read_key_files(settings) != files:
        raise Conflict(
            "the keys were changed while the database was written, so no file of keys was made: run it again"
        )
    with stage_file(target.absolute(), force) as descriptor:
        os.write(descriptor, text.encode())


def encrypt_key_files(files: Mapping[str, str], passphrase: Secret) -> str:
    """Encrypt the files as the text of an archive.

    Raises:
        Invalid: the passphrase is too short.
    """
    if len(passphrase.reveal()) < MIN_PASSPHRASE_LENGTH:
        raise Invalid(f"a passphrase of the keys has at least {MIN_PASSPHRASE_LENGTH} characters")
    salt, nonce = os.urandom(_SALT_BYTES), os.urandom(_NONCE_BYTES)
    cipher = AESGCM(_derive_key(passphrase, salt))
    sealed = cipher.encrypt(nonce, json.dumps(dict(files)).encode(), FORMAT.encode())
    parts = {"salt": salt, "nonce": nonce, "files": sealed}
    return json.dumps({"format": FORMAT} | {name: base64.b64encode(part).decode() for name, part in parts.items()})


def decrypt_key_files(archive: Path, passphrase: Secret) -> dict[str, str]:
    """Decrypt an archive; its files by name.

    Raises:
        Invalid: it is no archive of MCPist's, or the passphrase is another.
    """
    document = _read_archive(archive)
    try:
        salt, nonce, sealed = (base64.b64decode(document[name], validate=True) for name in ("salt", "nonce", "files"))
        plain = AESGCM(_derive_key(passphrase, salt)).decrypt(nonce, sealed, FORMAT.encode())
        files: dict[str, str] = json.loads(plain)
    except InvalidTag:
        raise Invalid(f"{archive} does not open: the passphrase is another one, or the file was changed") from None
    except (ValueError, KeyError, TypeError) as error:
        raise Invalid(f"{archive} is damaged: it is no file of keys that mcpist backup wrote") from error
    return files


def _read_archive(archive: Path) -> dict[str, Any]:
    try:
        with archive.open("rb") as file:
            content = file.read(MAX_ARCHIVE_BYTES + 1)
        document: Any = json.loads(content) if len(content) <= MAX_ARCHIVE_BYTES else None
    except OSError as error:
        raise Invalid(f"{archive} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError):
        document = None
    found = cast("dict[str, Any]", document) if isinstance(document, dict) else {}
    if found.get("format") != FORMAT:
        raise Invalid(f"{archive} is no file of keys that mcpist backup wrote")
    return found


def write_key_files(home: Path, files: Mapping[str, str]) -> None:
    """Write the files of an archive into a data folder, each as a whole; those that are there already stay.

    Raises:
        Conflict: one is there with other content; nothing was written.
        Invalid: the archive names a file that belongs to no data folder.
    """
    keys = (VAULT_KEYS_FILE, PEPPERS_FILE, DIGEST_KEY_FILE, GATEWAYS_FILE, CONSOLES_FILE, WORKERS_FILE)
    known = {f"{KEYS_FOLDER}/{name}" for name in keys}
    if unknown := sorted(files.keys() - known - {IDENTITY_FILE, NOTICES_FILE}):
        raise Invalid(
            f"the file of keys holds {unknown[0][:80]!r}, which this MCPist does not know: is it a newer one's?"
        )
    for name, text in files.items():
        if (home / name).exists() and (home / name).read_bytes() != text.encode():
            raise Conflict(f"{home / name} has other content already; name an empty data folder with MCPIST_HOME")
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name, text in files.items():
        write_once(home / name, text)


def _derive_key(passphrase: Secret, salt: bytes) -> bytes:
    scrypt = Scrypt(salt=salt, length=_KEY_BYTES, n=_COST, r=_BLOCK_SIZE, p=_PARALLELISM)
    return scrypt.derive(passphrase.reveal().encode())
