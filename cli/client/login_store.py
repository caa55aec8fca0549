"""Stored logins: one private file for each server, below the user's configuration folder.

A file is replaced as a whole, and read, refreshed and replaced under a lock that the kernel frees when its holder dies:
of several processes at once one uses the refresh token, and the others find what it got.
"""

import contextlib
import fcntl
import hashlib
import os
import pwd
import re
import secrets
import time
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import msgspec

from cli.client.browser_sign_in import LoginTokens
from core.errors import Invalid, Unavailable
from core.private_file import read_private
from core.secret import Secret

LOGINS_FOLDER = "logins"
LOCK_SECONDS = 60.0
LOCK_POLL_SECONDS = 0.05
MAX_LOGINS = 1_000
MAX_LOGIN_FILE_BYTES = 65_536
_UNSAFE_CHARACTERS = re.compile(r"[^0-9A-Za-z.-]+")


@dataclass(frozen=True, slots=True)
class Login:
    """A person's access to one server. `user_id` and `email` are theirs at that server."""

    server: str
    user_id: str
    email: str
    tenant: str
    tokens: LoginTokens


class _LoginFile(msgspec.Struct, forbid_unknown_fields=True):
    """A login as it stands in its file."""

    server: str
    user_id: str
    email: str
    tenant: str
    access_token: str
    refresh_token: str
    expires_at: datetime
    scopes: str


def get_config_folder(environment: Mapping[str, str]) -> Path:
    """Return the user's own folder for MCPist, by the XDG base directory specification."""
    config = environment.get("XDG_CONFIG_HOME", "")
    if config.startswith("/"):  # a relative one is to be ignored
        return Path(config) / "mcpist"
    home = environment.get("HOME") or pwd.getpwuid(os.geteuid()).pw_dir
    return Path(home) / ".config" / "mcpist"


class LoginStore:
    """The logins in one configuration folder."""

    def __init__(self, config: Path) -> None:
        self._folder = config / LOGINS_FOLDER

    def list_servers(self) -> list[str]:
        """List the servers with a stored login, in alphabetical order."""
        if not self._folder.is_dir():
            return []
        files = sorted(self._folder.glob("*.json"))[:MAX_LOGINS]
        return sorted(_read_login_file(file).server for file in files)

    def find(self, server: str) -> Login | None:
        """Find the login at a server.

        Raises:
            Invalid: its file can be read by others, or is damaged.
        """
        file = self._get_path(server)
        return _to_login(_read_login_file(file)) if file.exists() else None

    def put(self, login: Login) -> None:
        """Keep a login in the place of the server's earlier one."""
        tokens = login.tokens
        content = _LoginFile(
            *(login.server, login.user_id, login.email, login.tenant),
            *(tokens.access.reveal(), tokens.refresh.reveal(), tokens.expires_at, tokens.scopes),
        )
        _replace_file(self._get_path(login.server), msgspec.json.encode(content))

    def remove(self, server: str) -> None:
        """Forget a login."""
        self._get_path(server).unlink(missing_ok=True)

    @contextlib.contextmanager
    def lock_login(self, server: str) -> Generator[None]:
        """Let no other process use or change a login meanwhile.

        Raises:
            Unavailable: another one holds it for more than a minute.
        """
        file = self._get_path(server).with_suffix(".lock")
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            _wait_for_lock(descriptor)
            yield
        finally:
            os.close(descriptor)

    def _get_path(self, server: str) -> Path:
        """Named so that a person recognises it, and so that no two servers share it."""
        name = _UNSAFE_CHARACTERS.sub("-", server.partition("://")[2])[:100]
        return self._folder / f"{name}.{hashlib.sha256(server.encode()).hexdigest()[:12]}.json"


def _wait_for_lock(descriptor: int) -> None:
    ends = time.monotonic() + LOCK_SECONDS
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > ends:
                raise Unavailable("another mcpist command holds this login; try again when it has ended") from None
            time.sleep(LOCK_POLL_SECONDS)
        else:
            return


def _read_login_file(file: Path) -> _LoginFile:
    try:
        text = read_private(file)
        if len(text) > MAX_LOGIN_FILE_BYTES:
            raise ValueError(file)
        return msgspec.json.decode(text, type=_LoginFile)
    except (ValueError, msgspec.MsgspecError):
        raise Invalid(f"{file} is damaged; remove it, and sign in again with `mcpist login`") from None
    except OSError as error:
        raise Invalid(f"{file} cannot be read: {error.strerror}") from None


def _to_login(content: _LoginFile) -> Login:
    tokens = LoginTokens(
        Secret(content.access_token), Secret(content.refresh_token), content.expires_at, content.scopes
    )
    return Login(content.server, content.user_id, content.email, content.tenant, tokens)


def _replace_file(file: Path, content: bytes) -> None:
    """Durably: the refresh token in it is the only one that the server still takes for long."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    temporary = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(file)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
