"""The real product on a test's own database: gateways, tenants, people with tokens.

    async with product_on(database, tmp_path) as product:
        acme = await product.tenant("acme")
        ada = await product.person(acme, "ada@acme.test", allow=["*"])
        async with product.gateway() as node:
            answer = await node.post(ada.token, "tools/list")

Each gateway has pools of its own, as an own process would. The suite's canary hears what they answer, log and count.

With MCPIST_TEST_SPLIT=1 in the environment a gateway reaches its broker over HTTP: every test holds in both forms.
"""

import contextlib
import json
import os
import shutil
import time
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from prometheus_client import generate_latest

from broker.identity.api_tokens import ApiTokens
from broker.interface import Broker
from broker.vault.key_wrapping import load_or_create
from core.audit.event import DEPLOYMENT_CHAIN, AuditEvent
from core.audit.truncation import unpack
from core.config.settings import Settings
from core.database_url import DatabaseAddress
from core.db import Database
from core.directory.audit_trail import Actor
from core.directory.tenants import Tenant
from core.directory.users import create_user
from core.observability.exposition import build_registry
from core.private_file import write_once
from core.secret import Secret
from gateway.catalogue import Catalogue, load_installed_modules
from gateway.module_manifests import build_module_manifests
from gateway.observability.call_log import CallLog
from server.deployment import DIGEST_MEMBER, KEYS_FOLDER, Deployment
from server.role_database import BROKER_ROLE, CONSOLE_ROLE, open_role_database
from server.wiring.broker import BrokerRuntime, open_broker_runtime
from server.wiring.gateway import Gateway, open_gateway
from tests.support.canary import SUITE, Canary
from tests.support.directory import create_role, create_tenant, enable_services, grant
from tests.support.http_broker import served_over_http
from tests.support.mcp_client import Client
from tests.support.postgres import PASSWORDS, ScratchDatabase

ACTOR = Actor("tests")
SPLIT = "MCPIST_TEST_SPLIT"
REFUSE_RECORDS = """
CREATE FUNCTION audit.refuse() RETURNS trigger LANGUAGE plpgsql
    AS $$ BEGIN RAISE insufficient_privilege; END $$;
CREATE TRIGGER refuse BEFORE INSERT ON audit.incoming FOR EACH ROW EXECUTE FUNCTION audit.refuse();
"""


@dataclass(frozen=True, slots=True)
class Person:
    """A user with a token of theirs; their role has their address as its name."""

    tenant: Tenant
    id: UUID
    email: str
    token_id: str = ""
    token: str = ""


@dataclass(slots=True)
class Clock:
    """The broker's clock: real time, and what a test adds to it."""

    ahead: timedelta = field(default_factory=timedelta)

    def __call__(self) -> datetime:
        return datetime.now(UTC) + self.ahead


class Node(Client):
    """One running gateway and a client of it."""

    def __init__(self, running: Gateway, canary: Canary = SUITE) -> None:
        super().__init__(running.app, canary.hear)
        self.gateway = running

    def metrics(self) -> str:
        """What a scrape would show."""
        return generate_latest(build_registry(self.gateway.metrics)).decode()


@dataclass(slots=True)
class Product:
    """Everything that several gateways of one deployment share, and the operator's hands."""

    database: ScratchDatabase
    deployment: Deployment
    catalogue: Catalogue
    console: Database
    tokens: ApiTokens
    clock: Clock
    canary: Canary = SUITE

    @contextlib.asynccontextmanager
    async def gateway(
        self,
        *,
        through: DatabaseAddress | None = None,
        catalogue: Catalogue | None = None,
        as_worker: bool = False,
        **settings: Any,
    ) -> AsyncIterator[Node]:
        """A gateway of its own; `through` is another way to the same database. `as_worker`: one of whom a worker's
        handlers are made, which asks the broker as workers do."""
        deployment = replace(self.deployment, admin=through or self.deployment.admin)
        call_log = CallLog(lambda block: SUITE.hear("call log", block), clock=time.time)
        chosen = Settings(home=deployment.home, **settings)
        modules = catalogue or self.catalogue
        zone = open_broker_runtime(deployment, chosen, build_module_manifests(modules), clock=self.clock)
        async with open_gateway(
            chosen, deployment, _reached(zone, deployment, as_worker), modules, call_log
        ) as running:
            node = Node(running)
            yield node
            SUITE.hear("metrics", node.metrics().encode())
        call_log.close()
        call_log.close()  # the second waits for the first one's thread

    async def tenant(self, slug: str, *, services: Iterable[str] | None = None) -> Tenant:
        """A tenant with every module of the catalogue, or only some, switched on."""
        tenant = await create_tenant(self.console, ACTOR, slug)
        names = services if services is not None else [module.name for module in self.catalogue.modules]
        await enable_services(self.console, ACTOR, tenant.id, names)
        return tenant

    async def person(
        self, tenant: Tenant, email: str, *, allow: Iterable[str] = (), deny: Iterable[str] = (), **token: Any
    ) -> Person:
        """A user whose one role allows and denies that, and a token; `token` are the options of ApiTokens.create."""
        await create_role(self.console, ACTOR, tenant.id, email)
        for effect, permissions in (("allow", allow), ("deny", deny)):
            for permission in permissions:
                await grant(self.console, ACTOR, tenant.id, email, effect, permission)
        user_id = await create_user(self.console, ACTOR, tenant.id, email, roles=(email,))
        return await self.with_token(Person(tenant, user_id, email), **token)

    async def with_token(self, person: Person, **options: Any) -> Person:
        """The same person with one more token."""
        token_id, token = await self.tokens.create(ACTOR, person.tenant.id, person.id, "test", **options)
        return replace(person, token_id=token_id, token=token.reveal())

    async def events(self, tenant: Tenant | None, *kinds: str) -> list[AuditEvent]:
        """The tenant's audit events in order (None: the deployment's), of these kinds or all. No sealer runs here."""
        async with self.database.admin_connection() as admin:
            rows = await admin.fetch(
                "SELECT record FROM audit.incoming WHERE tenant_id = $1 ORDER BY id",
                DEPLOYMENT_CHAIN if tenant is None else tenant.id,
            )
        events = [unpack(row["record"]) for row in rows]
        return [event for event in events if not kinds or event.kind in kinds]

    @contextlib.asynccontextmanager
    async def unwritable_audit(self) -> AsyncIterator[None]:
        """The fail-point: no gateway can write a record. By a trigger, whose lock every session notices: a right that
        is revoked counts once more where a statement was prepared before."""
        async with self.database.admin_connection() as admin:
            await admin.execute(REFUSE_RECORDS)
            try:
                yield
            finally:
                await admin.execute("DROP FUNCTION audit.refuse CASCADE")


def over_http() -> bool:
    """Whether gateways reach their broker over HTTP in this run."""
    return bool(os.environ.get(SPLIT))


@contextlib.asynccontextmanager
async def _reached(
    opening: contextlib.AbstractAsyncContextManager[BrokerRuntime], deployment: Deployment, as_worker: bool
) -> AsyncIterator[Broker]:
    async with opening as zone:
        if not over_http():
            yield zone.broker
            return
        async with served_over_http(zone.broker, deployment.home / KEYS_FOLDER) as served:
            yield served.worker if as_worker else served.client


@contextlib.asynccontextmanager
async def product_on(
    database: ScratchDatabase, home: Path, *, catalogue: Catalogue | None = None, keys: Path | None = None
) -> AsyncIterator[Product]:
    """A deployment whose folder is `home`; `keys` are those of a product that used a copy of the database before."""
    (home / KEYS_FOLDER).mkdir(parents=True)
    if keys is not None:
        shutil.copytree(keys, home / KEYS_FOLDER, dirs_exist_ok=True)
    deployment = Deployment(home, database.admin, PASSWORDS, Secret("digest key of the tests, not secret"))
    write_once(deployment.digest_key_path, json.dumps({DIGEST_MEMBER: deployment.digest_key.reveal()}))
    clock = Clock()
    async with (
        open_role_database(deployment, CONSOLE_ROLE, max_connections=3) as console,
        open_role_database(deployment, BROKER_ROLE, max_connections=3) as broker,
    ):
        tokens = ApiTokens(broker, load_or_create(deployment.peppers), clock=clock)
        yield Product(database, deployment, catalogue or load_installed_modules(), console, tokens, clock)
