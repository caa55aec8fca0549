"""KG: calls of the knowledge graph beside bare Starlette and asyncpg with one plain statement on the same tables."""

import asyncio
from typing import Any
from uuid import UUID, uuid4

import asyncpg

from server.data_folder import attach_database
from tests.bench.client import Client, tools_call
from tests.bench.lab import Lab
from tests.bench.product import unlimited
from tests.bench.report import Result, Row
from tests.bench.rounds import added_p50, compared, cpu, interleaved, own_cpu, rate

ENTITIES = 100
CONNECTIONS = (1, 16)
CALLS: dict[str, tuple[dict[str, Any], str]] = {
    "get_nodes": ({"names": ["Person 042"]}, "likes tea 42"),
    "search": ({"query": "tea 42"}, "Person 042"),
    "add_observations": ({"observations": [{"entityName": "Diary", "contents": ["entry @N@"]}]}, "added"),
}
COPY = (
    """INSERT INTO core.users (tenant_id, id, email)
        SELECT tenant_id, $2, 'bench@localhost' FROM core.users WHERE id = $1""",
    """INSERT INTO modules.kg_graphs SELECT tenant_id, $2, entities, observations, relations
        FROM modules.kg_graphs WHERE user_id = $1""",
    """INSERT INTO modules.kg_entities SELECT tenant_id, $2, name, type, folded
        FROM modules.kg_entities WHERE user_id = $1""",
    """INSERT INTO modules.kg_observations (tenant_id, user_id, entity, observation, fingerprint, folded)
        SELECT tenant_id, $2, entity, observation, fingerprint, folded
        FROM modules.kg_observations WHERE user_id = $1""",
)


def measure(lab: Lab) -> list[Result]:
    """One tool after the other; writing comes last, since what it adds makes searching slower."""
    client = lab.product.client()
    fill(client)
    client.close()
    tenant, user = asyncio.run(_copy(lab))
    sql = lab.reference("sql", home=lab.product.home, tenant=tenant, user=user)
    results: list[Result] = []
    for tool, (params, expect) in CALLS.items():
        arguments = {"module": "knowledge_graph", "tool_name": tool, "params": params}
        request = lab.request(tools_call("call", arguments), expect)
        targets = [
            lab.of_product(f"knowledge_graph.{tool}", request),
            lab.of_reference(f"bare SQL {tool}", request, sql, lab.product.postgres),
        ]
        rounds = interleaved(targets, _connections(lab), lab.options, lab.progress)
        rows = [
            Row("KG", f"{tool}, req/s relative to bare SQL, {many} connections", "x", compared(rounds, many, rate))
            for many in _connections(lab)
        ]
        most = max(_connections(lab))
        rows += [
            Row("KG", f"{tool}, p50 added at 1 connection", "ms", compared(rounds, 1, added_p50)),
            Row("KG", f"{tool}, CPU a call", "µs", compared(rounds, most, own_cpu)),
            Row("KG", f"{tool}, CPU a call relative to bare SQL", "x", compared(rounds, most, cpu)),
        ]
        results.append(Result(tuple(rows), tuple(one for samples in rounds for one in samples)))
    return results


def fill(client: Client) -> None:
    """A small graph: a hundred people with three facts each, and a diary."""
    people = [
        {
            "name": f"Person {number:03}",
            "entityType": "person",
            "observations": [f"likes tea {number}", f"works in room {number}", "speaks English and 日本語"],
        }
        for number in range(ENTITIES - 1)
    ]
    diary = {"name": "Diary", "entityType": "note", "observations": []}
    client.call("knowledge_graph", "create_entities", entities=[*people, diary])


async def _copy(lab: Lab) -> tuple[UUID, UUID]:
    """Give a second user of the same tenant the same graph: the reference's."""
    async with attach_database(
        unlimited(lab.product.home, lab.product.port, lab.upstream.port), lambda _text: None
    ) as deployment:
        admin: Any = await asyncpg.connect(**deployment.admin.connect_args())
        try:
            owner = await admin.fetchrow("SELECT tenant_id, user_id FROM modules.kg_graphs")
            user = uuid4()
            for statement in COPY:
                await admin.execute(statement, owner["user_id"], user)
        finally:
            await admin.close()
    return owner["tenant_id"], user


def _connections(lab: Lab) -> tuple[int, ...]:
    return CONNECTIONS[:1] if lab.options.quick else CONNECTIONS
