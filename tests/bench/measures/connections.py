"""CN: the numbers of a tenant's connections by service and state, with a hundred thousand of them, made by SQL."""

import asyncio
import time
from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID

import asyncpg

from broker.connections.connection_health import ConnectionHealth
from broker.providers.catalogue import ProviderRegistry, load_builtin_providers
from core.db import Database
from core.http.origins import get_origin
from core.module_manifest import ModuleManifest
from server.operator_context import OperatorContext, open_operator_context
from server.role_database import BROKER_ROLE, open_role_database
from tests.bench.lab import Lab, Product
from tests.bench.processes import cpu_seconds, own_seconds, trees
from tests.bench.product import unlimited
from tests.bench.report import Result, Row

MUST = 500
"""Milliseconds, our own: docs/benchmarks.md says why it is not the 100 of figures over time."""
Place = tuple[str, str, str, str, str]
"""Provider, module, origin, and its scopes of reading and of writing, with spaces between them."""
CONNECTIONS = 100_000
TENANT = UUID(int=1402)
SEALED = b"\x01" + bytes(300)
"""As long as a sealed access token."""
# Each person has two roles of forty. Of the accounts a half may read and write, a quarter reads, a quarter has nothing;
# one of ten has to be connected again.
FILL = (
    "INSERT INTO core.tenants (tenant_id, slug, name) VALUES ($1, 'connections', 'Connections')",
    "INSERT INTO core.services (tenant_id, module) SELECT $1::uuid, unnest($2::text[])",
    """INSERT INTO core.roles (tenant_id, id, name, priority)
    SELECT $1::uuid, gen_random_uuid(), 'role ' || n, n FROM generate_series(0, 39) n""",
    """INSERT INTO core.permissions (tenant_id, role_id, effect, permission)
    SELECT r.tenant_id, r.id, 'allow', m || CASE WHEN r.priority % 2 = 0 THEN ':read' ELSE '.*' END
    FROM core.roles r, unnest($2::text[]) m WHERE r.tenant_id = $1""",
    """INSERT INTO core.users (tenant_id, id, email)
    SELECT $1::uuid, gen_random_uuid(), 'user' || n || '@connections.test' FROM generate_series(1, $2::int) n""",
    """INSERT INTO core.role_assignments (tenant_id, user_id, role_id)
    SELECT u.tenant_id, u.id, r.id FROM core.users u JOIN core.roles r ON r.tenant_id = u.tenant_id
        AND r.priority IN (hashtext(u.email) & 7, 8 + (hashtext(u.email) >> 3 & 31))
    WHERE u.tenant_id = $1""",
    """INSERT INTO vault.oauth_clients (tenant_id, id, provider, client_id, version, created_at, updated_at)
    SELECT DISTINCT ON (p) $1::uuid, gen_random_uuid(), p, 'bench', 1, now(), now() FROM unnest($2::text[]) p""",
    """CREATE TEMPORARY TABLE made AS
    SELECT u.id AS user_id, gen_random_uuid() AS id, p.*, hashtext(p.module || u.email) AS chance
    FROM core.users u, unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[])
        AS p (provider, module, origin, reading, writing) WHERE u.tenant_id = $1""",
    """INSERT INTO vault.accounts (tenant_id, id, provider, oauth_client_id, user_id, scopes, version, status, access,
        refresh, created_at, updated_at)
    SELECT o.tenant_id, m.id, m.provider, o.id, m.user_id, string_to_array(
        CASE chance & 3 WHEN 0 THEN '' WHEN 1 THEN reading ELSE trim(reading || ' ' || writing) END, ' '),
        1, CASE WHEN chance % 10 = 0 THEN 'needs_reauth' ELSE 'active' END, $2, $2, now(), now()
    FROM made m JOIN vault.oauth_clients o ON o.tenant_id = $1 AND o.provider = m.provider""",
    """INSERT INTO vault.credentials (tenant_id, id, module, user_id, type, version, account_id, origins, created_at,
        updated_at)
    SELECT $1::uuid, gen_random_uuid(), module, user_id, 'B', 1, id, ARRAY[origin], now(), now() FROM made""",
)
ANALYZE = "ANALYZE core.role_assignments, core.users, vault.oauth_clients, vault.accounts, vault.credentials"


def measure(lab: Lab) -> list[Result]:
    """The counting of all, as the dashboard asks for it."""
    product = lab.new_product("connections")
    settings = unlimited(product.home, product.port, product.upstream)

    async def run() -> list[Row]:
        async with (
            open_operator_context(settings, lambda _text: None) as operating,
            open_role_database(operating.deployment, BROKER_ROLE, max_connections=2) as broker,
        ):
            places = list(_list_places(operating.manifests))
            people = CONNECTIONS // len(places) // (100 if lab.options.quick else 1)
            await _fill(operating, places, people)
            health = ConnectionHealth(ProviderRegistry(load_builtin_providers()), operating.manifests)
            return await _measure_counting(broker, health, product, 1 if lab.options.quick else 4 * lab.options.rounds)

    return [Result(tuple(asyncio.run(run())))]


def _list_places(manifests: Sequence[ModuleManifest]) -> Iterator[Place]:
    """Each module that has a vendor with OAuth, at the first of its providers."""
    modules = {module.name: module for module in manifests}
    for provider_id, provider in load_builtin_providers().known.items():
        for name, families in provider.modules.items():
            if provider.oauth is not None and name in modules:
                origin = get_origin(modules.pop(name).base_url)
                yield provider_id, name, origin, " ".join(families.reading), " ".join(families.writing)


async def _fill(operating: OperatorContext, places: Sequence[Place], people: int) -> None:
    providers, modules, origins, reading, writing = (list(values) for values in zip(*places, strict=True))
    arguments = (
        (), (modules,), (), (modules,), (people,), (), (providers,),
        (providers, modules, origins, reading, writing), (SEALED,), (),
    )  # fmt: skip
    admin: Any = await asyncpg.connect(**operating.deployment.admin.connect_args())
    try:
        await admin.execute("SELECT set_config('app.tenant_id', $1, false)", str(TENANT))
        # No trigger for each row: what they keep is not read here.
        await admin.execute("SET session_replication_role = replica")
        for statement, more in zip(FILL, arguments, strict=True):
            first = () if "$1" not in statement else (TENANT,)
            await admin.execute(statement, *first, *more)
        await admin.execute(ANALYZE)
    finally:
        await admin.close()


async def _measure_counting(broker: Database, health: ConnectionHealth, product: Product, rounds: int) -> list[Row]:
    milliseconds: list[float] = []
    cpu_before = _read_cpu(product)
    for _ in range(rounds):
        started_at = time.perf_counter()
        async with broker.tenant(TENANT) as work:
            counts = await health.count_for_tenant(work)
        milliseconds.append((time.perf_counter() - started_at) * 1000)
    assert len({one.state for one in counts}) > 1, "there is something to count"
    what = f"{sum(one.count for one in counts):,} connections counted by service and state"
    cpu = (_read_cpu(product) - cpu_before) * 1000 / rounds
    return [
        Row("CN", what, "ms", tuple(milliseconds), MUST, more_is_better=False),
        Row("CN", f"{what}: CPU", "ms", (cpu,), more_is_better=False),
    ]


def _read_cpu(product: Product) -> float:
    return own_seconds() + cpu_seconds(trees((product.pid,)))
