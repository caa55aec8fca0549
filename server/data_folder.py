"""The data folder's database: the embedded server under us, one that another process runs, or an external one."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable
from pathlib import Path

from core.config.settings import Settings
from core.database_url import DatabaseAddress
from core.db import check_sessions, connect
from core.errors import Conflict, NotFound
from core.migrations import LOGIN_ROLES, create_roles
from core.secret import Secret
from server.deployment import KEYS_FOLDER, PASSWORDS_FILE, Deployment, KeyProviderSettings, open_deployment
from server.endpoint_file import find_running_server
from server.postgres.errors import HomeInUse, OwnerGone
from server.postgres.layout import find_layout
from server.postgres.lock import HomeLock
from server.postgres.postmaster import ServerAddress
from server.postgres.supervisor import EmbeddedPostgres, attach_server

Report = Callable[[str], None]
LOCK_FILE = "lock"
"""As the embedded database has it: one product on a data folder."""
SHORT_COMMAND_TIMEOUT = 5.0  # seconds
CREATING_COMMANDS = frozenset({"up", "stdio", "migrate", "restore"})
"""The commands that make a data folder and a database where there is none. No other does: a mistyped MCPIST_HOME would
show an empty MCPist, or back it up."""


@contextlib.asynccontextmanager
async def start_database(settings: Settings, report: Report) -> AsyncGenerator[Deployment]:
    """Run the database for as long as this lasts, made where there is none; an external one is only used.

    Raises:
        HomeInUse: another MCPist owns the data folder.
        server.postgres.errors.PostgresError: the server cannot start; the text says what to do.
    """
    if settings.database_url is not None:
        deployment = await _open_external(settings, make=True)
        with await HomeLock.acquire(settings.home / LOCK_FILE):
            yield deployment
        return
    postgres = EmbeddedPostgres(
        settings.home, run_as=settings.postgres_user, on_progress=report, workers=settings.workers
    )
    try:
        yield _open_embedded(settings, await _start_postgres(postgres, settings.home))
    finally:
        await postgres.stop()


async def _start_postgres(postgres: EmbeddedPostgres, home: Path) -> ServerAddress:
    """Start; a short command that holds the data folder without being a product is waited for."""
    give_up = asyncio.get_running_loop().time() + SHORT_COMMAND_TIMEOUT
    while True:
        try:
            return await postgres.start()
        except HomeInUse:
            if find_running_server(home) is not None or asyncio.get_running_loop().time() > give_up:
                raise
            await asyncio.sleep(0.1)


@contextlib.asynccontextmanager
async def attach_database(settings: Settings, report: Report, *, maker: str = "") -> AsyncGenerator[Deployment]:
    """Use the database of the MCPist that runs on the data folder, or run it for as long as this lasts; `maker` is the
    command that asks, where it is one of ``MAKERS``.

    Raises:
        NotFound: there is no data folder, and the command makes none.
    """
    make = maker in CREATING_COMMANDS
    if settings.database_url is not None:
        yield await _open_external(settings, make=make)
        return
    while True:
        try:
            address = await attach_server(settings.home, on_progress=report)
        except OwnerGone:
            pass
        else:
            yield _open_embedded(settings, address)
            return
        if not make:
            check_data_folder(settings)
        async with contextlib.AsyncExitStack() as stack:
            try:
                deployment = await stack.enter_async_context(start_database(settings, report))
            except HomeInUse:
                continue  # another process started between the two checks: join it
            yield deployment
            return


def check_data_folder(settings: Settings) -> None:
    """Raises:
    NotFound: the settings name no data folder of an MCPist.
    """
    if not has_database(settings):
        raise NotFound(_NO_DATA_FOLDER.format(home=settings.home))


def has_database(settings: Settings) -> bool:
    """Check whether the data folder has a database, or the passwords of an external one."""
    if settings.database_url is not None:
        return (settings.home / KEYS_FOLDER / PASSWORDS_FILE).exists()
    layout = find_layout(settings.home)
    return layout is not None and layout.data.exists()


async def _open_external(settings: Settings, *, make: bool) -> Deployment:
    """Open the folder of a deployment on an external database. Nothing is created, in the folder or the database, where
    the roles' passwords are another folder's.

    Raises:
        Conflict: the passwords are another folder's; the text says what to do.
        NotFound: there is no data folder, and none shall be made.
    """
    assert settings.database_url is not None
    admin = DatabaseAddress(settings.database_url)
    await check_sessions(admin)
    passwords = settings.home / KEYS_FOLDER / PASSWORDS_FILE
    renew = not passwords.exists() and await _has_roles(admin)
    if renew and settings.new_role_passwords != "yes":
        raise Conflict(_PASSWORDS_ELSEWHERE.format(passwords=passwords))
    if not (make or renew):
        check_data_folder(settings)
    settings.home.mkdir(mode=0o700, parents=True, exist_ok=True)
    deployment = open_deployment(settings.home, admin, get_key_provider_settings(settings))
    if renew:
        await create_roles(deployment.admin, deployment.passwords)
    return deployment


async def _has_roles(admin: DatabaseAddress) -> bool:
    connection = await connect(admin)
    try:
        return await connection.fetchval(_HAS_ROLES_QUERY, list(LOGIN_ROLES))
    finally:
        await connection.close()


def _open_embedded(settings: Settings, server: ServerAddress) -> Deployment:
    address = DatabaseAddress(Secret(server.build_url()), server.superuser, Secret(server.password))
    return open_deployment(settings.home, address, get_key_provider_settings(settings))


def get_key_provider_settings(settings: Settings) -> KeyProviderSettings:
    """Return the settings of the vault's key providers."""
    return KeyProviderSettings(settings.keys, settings.transit_token)


_NO_DATA_FOLDER = (
    "there is no data folder of an MCPist at {home}: set MCPIST_HOME to the right one, or make one with `mcpist up`. "
    "To act at a server, sign in there with `mcpist login URL`"
)
_HAS_ROLES_QUERY = "SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = ANY ($1::text[]) AND rolcanlogin)"
_PASSWORDS_ELSEWHERE = (
    "an MCPist uses this database server already, and its roles' passwords are not here: new ones would shut it out. "
    "Copy its keys/database-roles.json to {passwords} (mode 0600), or name its data folder with MCPIST_HOME. If none "
    "runs there any more: MCPIST_NEW_ROLE_PASSWORDS=yes for this one command"
)
