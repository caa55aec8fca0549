"""Texts of a person in every table that holds some unsealed, but for those of the search engine."""

from typing import Any
from uuid import UUID

from core.db import Database
from modules.items import MODULE as ITEMS
from modules.knowledge_graph import MODULE as GRAPH
from tests.support.modules import Person

ADD_ACTIVITY = """
WITH synced AS (
    INSERT INTO modules.activity_syncs (tenant_id, user_id, stream, account, covered_from, covered_until, synced_at)
    VALUES ($1, $2, 'toggl_time', gen_random_uuid(), now(), now(), now()) ON CONFLICT DO NOTHING
)
INSERT INTO modules.activity_entries (tenant_id, user_id, stream, key, starts_at, ends_at, value)
SELECT $1, $2, 'toggl_time', k.key, now(), now(), $4 FROM unnest($3::text[]) AS k (key)
ON CONFLICT (tenant_id, user_id, stream, key) DO UPDATE SET value = excluded.value
"""
ADD_COUNT = """
INSERT INTO modules.document_counts (tenant_id, user_id, module) VALUES ($1, $2, 'rag') ON CONFLICT DO NOTHING
"""
ADD_DOCUMENT = """
INSERT INTO modules.documents (tenant_id, user_id, module, key, value, version) VALUES ($1, $2, 'rag', $3, $4, 1)
ON CONFLICT (tenant_id, user_id, module, key) DO UPDATE SET value = excluded.value, version = documents.version + 1
"""
ADD_SUBSCRIPTION = """
INSERT INTO core.resource_subscriptions (tenant_id, user_id, credential_id, client, uri, created_at, expires_at)
VALUES ($1, $2, 'token', 'client', $3, now(), now() + interval '1 day')
"""

ADD_JOB = """INSERT INTO jobs.jobs (tenant_id, id, user_id, kind, module, tool, title, client, arguments, is_repeatable,
        retries_left, lifetime, expires_at, message)
    VALUES ($1, gen_random_uuid(), $2, 'call', 'rag', 'sync_documents', 'Sync', 'a client', 'sealed', true, 0,
        interval '1 hour', now() + interval '1 hour', $3)"""
ADD_SCHEDULE = """INSERT INTO jobs.schedules (tenant_id, id, user_id, title, kind, module, tool, client, mandate_id,
        arguments, retries, lifetime, cron, every, time_zone, overlap, next_run_at)
    VALUES ($1, gen_random_uuid(), $2, $3, 'call', 'rag', 'sync_documents', 'a client', gen_random_uuid(), 'sealed', 0,
        '7 days', '', '1 hour', 'UTC', 'skip', now() + interval '1 hour')"""
ADD_MANDATE = """INSERT INTO auth.mandates (tenant_id, user_id, purpose, purpose_id, title, tools, credential_kind,
        credential_id, client, scopes, read_only, result_text, created_at, expires_at)
    VALUES ($1, $2, 'schedule', gen_random_uuid(), $3, '{rag.sync_documents}', 'operator', 'operator', 'a client',
        '{mcp:read}', false, '', now(), now() + interval '1 day')"""


async def store_item(items: Person, text: str, workspace: str | None = None) -> str:
    """Create an item with a text in each of its parts but its type; return its key."""
    place = {} if workspace is None else {"workspace": workspace}
    made = await items.call(
        "create_item",
        type="note",
        title=text,
        description=text,
        content=f"{'some words that repeat. ' * 400} {text}",
        category=text,
        version=text,
        tags=[text],
        **place,
    )
    return made["key"]


async def store_workspace(items: Person, text: str, owner: str = "user", role: str = "") -> str:
    """Create a workspace with a text in each of its tables; return its name."""
    made = await items.call("create_workspace", name=text, owner=owner, role=role)
    place = {"workspace": made["name"]}
    await items.call("set_statuses", statuses=[{"name": "Open"}, {"name": text}], **place)
    await store_item(items, text, made["name"])
    other = await items.call("create_item", type=text, title="other", status=text, related=["note-1"], **place)
    await items.call("change_item_type", from_type=text, from_id=other["id"], to_type="else", **place)
    for number in range(2):
        await items.call("update_current_state", content=f"{number} {text}", updated_by=text, tags=[text], **place)
    return made["name"]


async def replace_item(items: Person, key: str) -> None:
    """Change each text of an item of :func:`store_item`."""
    type, _, number = key.rpartition("-")
    emptied = dict.fromkeys(("description", "content", "category", "version"), "")
    await items.call("update_item", type=type, id=int(number), title="other", tags=[], **emptied)


async def store_entity(graph: Person, text: str) -> None:
    """Create an entity of the knowledge graph with a text in its name, its type, an observation and a relation."""
    entities = [{"name": name, "entityType": text, "observations": [text]} for name in (text, f"other {text}")]
    await graph.call("create_entities", entities=entities)
    relation = {"from": text, "to": f"other {text}", "relationType": text}
    await graph.call("create_relations", relations=[relation])


async def store_rows(gateway: Database, tenant: UUID, user: UUID, text: str, key: str | None = None) -> None:
    """Store an entry of activity, a document of a module and a subscription with a text. `key` is theirs, the text
    without it."""
    async with gateway.personal(tenant, user) as work:
        await work.execute(ADD_ACTIVITY, [key or text], text)
        await work.execute(ADD_COUNT)
        await work.execute(ADD_DOCUMENT, key or text, text)
        await work.execute(ADD_SUBSCRIPTION, f"resource://knowledge_graph/entities/{text}")


async def store_everywhere(gateway: Database, tenant: UUID, user: UUID, text: str) -> None:
    """Store a text of one's own in each of these tables."""
    await store_workspace(Person(gateway, ITEMS, tenant, user), text)
    await store_entity(Person(gateway, GRAPH, tenant, user), text)
    await store_rows(gateway, tenant, user, text)


async def store_job(admin: Any, tenant: UUID, user: UUID, text: str) -> None:
    """Store a job that has said a text of its progress, and a schedule and its mandate with it as title."""
    for sql in (ADD_JOB, ADD_SCHEDULE, ADD_MANDATE):
        await admin.execute(sql, tenant, user, text)
