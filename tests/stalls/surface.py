"""The product as one application, with somebody who may use all of it, and no limit on how often."""

import contextlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock
from urllib.parse import urlsplit

import httpx2

from core.api import security
from core.api.app import OPENAPI_PATH
from gateway.catalogue import build_catalogue, load_installed_modules
from tests.stalls.watch import Request, Served, collected_as_in_the_product, served, served_together
from tests.support.directory import set_argument_recording
from tests.support.identity import Identity, identity_on
from tests.support.postgres import ScratchDatabase
from tests.support.product import ACTOR, Person, product_on
from tests.support.toy_modules import Lab

GENEROUS = {
    "job_patience": 0.05,
    "rate_per_second": 1_000_000.0,
    "rate_burst": 1_000_000,
    "failed_auth_per_minute": 1_000_000,
    "trusted_proxies": ("127.0.0.1",),
}


@dataclass(frozen=True)
class Surface:
    """`admin` may do everything; the arguments of `recorded`'s calls are kept; `cookie` is a session of `admin`."""

    identity: Identity
    admin: Person
    recorded: Person
    cookie: str
    openapi: dict[str, Any]

    @property
    def port(self) -> int:
        return urlsplit(self.identity.url).port or 0

    @property
    def host(self) -> bytes:
        return f"127.0.0.1:{self.port}".encode()

    async def ask(self, request: Request) -> Served:
        return await served(self.identity.gateway.app, request, self.port)

    async def ask_together(self, requests: Sequence[Request]) -> list[Served]:
        return await served_together(self.identity.gateway.app, requests, self.port)


@contextlib.asynccontextmanager
async def surface_on(database: ScratchDatabase, home: Path) -> AsyncIterator[Surface]:
    catalogue = build_catalogue([*load_installed_modules().modules, Lab().module()])
    with mock.patch.multiple(
        security, REQUESTS_PER_SECOND=1e6, REQUEST_BURST=1_000_000, ANONYMOUS_PER_MINUTE=1_000_000
    ):
        async with (
            product_on(database, home, catalogue=catalogue) as product,
            identity_on(product, providers=False, server={"dynamic_registration": True}, **GENEROUS) as identity,
        ):
            default, other = await product.tenant("default"), await product.tenant("recorded")
            admin = await product.person(default, "ada@acme.test", allow=["*"])
            recorded = await product.person(other, "bob@acme.test", allow=["*"])
            async with product.database.admin_connection() as connection:
                await connection.execute("UPDATE core.users SET system_role = 'admin'")
            await set_argument_recording(product.console, ACTOR, other.id, arguments=True)
            admin = await product.with_token(admin, scopes=["mcp:write", "admin:write"])
            async with httpx2.AsyncClient(base_url=identity.url, timeout=60) as client:
                document = (await client.get(OPENAPI_PATH)).json()
            with collected_as_in_the_product():
                yield Surface(identity, admin, recorded, await identity.session(admin), document)
