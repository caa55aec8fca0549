"""The data folder's database: the embedded server under us, one that another process runs, or an external one."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable
from pathlib import Path

from core.address import DatabaseAddress
from core.db import check_sessions, connect
from core.errors import Conflict
from core.migrations import LOGIN_ROLES, create_roles
from core.secret import Secret
from core.settings import Settings
from gateway.deployment import KEYS, PASSWORDS, Deployment, KeeperSettings, open_deployment
from gateway.postgres.errors import HomeInUse, OwnerGone
from gateway.postgres.server import ServerAddress
from gateway.postgres.supervisor import EmbeddedPostgres, attach
from gateway.single.endpoint import announced

Report = Callable[[str], None]
SHORT_COMMAND = 5.0  # seconds


@contextlib.asynccontextmanager
async def owned(settings: Settings, report: Report) -> AsyncGenerator[Deployment]:
    """Run the database for as long as this lasts; an external one is only used.

    Raises:
        HomeInUse: another MCPist owns the data folder.
        gateway.postgres.errors.PostgresError: the server cannot start; the text says what to do.
    """
    if settings.database_url is not None:
        yield await _external(settings)
        return
    postgres = EmbeddedPostgres(settings.home, run_as=settings.postgres_user, on_progress=report)
    try:
        yield _embedded(settings, await _started(postgres, settings.home))
    finally:
        await postgres.stop()


async def _started(postgres: EmbeddedPostgres, home: Path) -> ServerAddress:
    """Start; a short command that holds the data folder without being a product is waited for."""
    give_up = asyncio.get_running_loop().time() + SHORT_COMMAND
    while True:
        try:
            return await postgres.start()
        except HomeInUse:
            if announced(home) is not None or asyncio.get_running_loop().time() > give_up:
                raise
            await asyncio.sleep(0.1)


@contextlib.asynccontextmanager
async def joined(settings: Settings, report: Report) -> AsyncGenerator[Deployment]:
    """Use the database of the MCPist that runs on the data folder, or run it for as long as this lasts."""
    if settings.database_url is not None:
        yield await _external(settings)
        return
    while True:
        try:
            address = await attach(settings.home, on_progress=report)
        except OwnerGone:
            pass
        else:
            yield _embedded(settings, address)
            return
        async with contextlib.AsyncExitStack() as stack:
            try:
                deployment = await stack.enter_async_context(owned(settings, report))
            except HomeInUse:
                continue  # somebody started between our two looks: join them
            yield deployment
            return


async def _external(settings: Settings) -> Deployment:
    """Nothing is made, in the folder or the database, where the roles' passwords are another folder's.

    Raises:
        Conflict: they are; the text says what to do.
    """
    assert settings.database_url is not None
    admin = DatabaseAddress(settings.database_url)
    await check_sessions(admin)
    passwords = settings.home / KEYS / PASSWORDS
    renew = not passwords.exists() and await _has_roles(admin)
    if renew and settings.new_role_passwords != "yes":
        raise Conflict(_OTHERS.format(passwords=passwords))
    settings.home.mkdir(mode=0o700, parents=True, exist_ok=True)
    deployment = open_deployment(settings.home, admin, keepers(settings))
    if renew:
        await create_roles(deployment.admin, deployment.passwords)
    return deployment


async def _has_roles(admin: DatabaseAddress) -> bool:
    connection = await connect(admin)
    try:
        return await connection.fetchval(_ROLES, list(LOGIN_ROLES))
    finally:
        await connection.close()


def _embedded(settings: Settings, server: ServerAddress) -> Deployment:
    address = DatabaseAddress(Secret(server.url()), server.superuser, Secret(server.password))
    return open_deployment(settings.home, address, keepers(settings))


def keepers(settings: Settings) -> KeeperSettings:
    """Who keeps the vault's keys."""
    return KeeperSettings(settings.keys, settings.transit_token)


_ROLES = "SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = ANY ($1::text[]) AND rolcanlogin)"
_OTHERS = (
    "an MCPist uses this database server already, and its roles' passwords are not here: new ones would shut it out. "
    "Copy its keys/database-roles.json to {passwords} (mode 0600), or name its data folder with MCPIST_HOME. If none "
    "runs there any more: MCPIST_NEW_ROLE_PASSWORDS=yes for this one command"
)
