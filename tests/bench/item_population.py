"""A workspace of 100,000 items with 300,000 relations: ten types, ordinary and frequent words, and hubs."""

from typing import Any
from uuid import UUID

ITEMS = 100_000
RELATIONS_OF_ITEM = 3
TYPES = ("task", "note", "decision", "bug", "idea", "meeting", "person", "document", "question", "risk")
WORDS = 20_000
_TEXT = """(SELECT string_agg('w' || floor(exp(random() * ln(20000)))::int, ' ') FROM generate_series(1, {count}) g
    WHERE s.n + g > 0)"""
_TYPE = "('{" + ",".join(TYPES) + "}'::text[])"

ITEMS_OF_TYPES = f"""
INSERT INTO modules.items (tenant_id, workspace_id, id, type, number, title, description, content, status, priority,
    tags, tokens, revision, indexed_revision, updated_by, created_at, updated_at)
OVERRIDING SYSTEM VALUE
SELECT $1, $2, s.id, {_TYPE}[1 + s.n % 10], 1 + s.n / 10, t.title, t.description, t.content,
    ('{{Open,In Progress,Review,Completed,Closed}}'::text[])[1 + floor(random() * 5)::int], 'MEDIUM',
    g.tags, (SELECT array_to_tsvector(array_agg(DISTINCT token)) FROM (
        SELECT $5::text || ':' || word AS token
        FROM regexp_split_to_table(t.title || ' ' || t.description || ' ' || t.content, ' ') AS word
        UNION ALL SELECT $5::text || '=' || word FROM regexp_split_to_table(t.title, ' ') AS word) w),
    1, 1, $3, now() - interval '1 year', now() - random() * interval '1 year'
FROM (SELECT n, n + $6::bigint AS id FROM generate_series(0, $4::int - 1) n) s
CROSS JOIN LATERAL (SELECT {_TEXT.format(count=6)} AS title, {_TEXT.format(count=15)} AS description,
    {_TEXT.format(count=100)} AS content) t
CROSS JOIN LATERAL (SELECT array_agg(DISTINCT 'tag' || floor(exp(random() * ln(200)))::int) AS tags
    FROM generate_series(1, 3) g WHERE s.n + g > 0) g
"""
TAGS = """
INSERT INTO modules.item_tags (tenant_id, workspace_id, tag, item_id)
SELECT tenant_id, workspace_id, unnest(tags), id FROM modules.items WHERE tenant_id = $1 AND workspace_id = $2
ON CONFLICT DO NOTHING
"""
TAG_COUNTS = """
INSERT INTO modules.item_tag_counts (tenant_id, workspace_id, tag, items)
SELECT tenant_id, workspace_id, tag, count(*) FROM modules.item_tags WHERE tenant_id = $1 AND workspace_id = $2
GROUP BY 1, 2, 3
"""
# A third of the relations lead to one of few items, the first of them most: those are the hubs.
RELATIONS = """
INSERT INTO modules.item_relations (tenant_id, workspace_id, source, target)
SELECT DISTINCT $1::uuid, $2::uuid, r.source, r.target FROM (
    SELECT $4::bigint + n / $5::int AS source, $4::bigint + CASE WHEN random() < 0.35
        THEN floor(exp(random() * ln($3::int)))::bigint ELSE floor(random() * $3::int)::bigint END AS target
    FROM generate_series(0, $3::int * $5::int - 1) n) r
WHERE r.source <> r.target AND r.target < $4::bigint + $3::int
"""
NUMBERS = """
INSERT INTO modules.item_numbers (tenant_id, workspace_id, type, last, items)
SELECT tenant_id, workspace_id, type, max(number), count(*) FROM modules.items
WHERE tenant_id = $1 AND workspace_id = $2 GROUP BY 1, 2, 3
ON CONFLICT (tenant_id, workspace_id, type) DO UPDATE SET last = excluded.last, items = excluded.items
"""
COUNT = """
UPDATE modules.item_workspaces SET items = (SELECT count(*) FROM modules.items WHERE tenant_id = $1
    AND workspace_id = $2), generation = generation + 1 WHERE tenant_id = $1 AND id = $2
"""


async def fill_workspace(admin: Any, tenant: UUID, workspace: UUID, number: int, user: UUID, items: int = ITEMS) -> int:
    """Fill an empty workspace of this number as its owner would have; return the id of the first item."""
    first = await admin.fetchval("SELECT coalesce(max(id), 0) + 1 FROM modules.items")
    await admin.execute("SET synchronous_commit = off")
    await admin.execute("SET session_replication_role = replica")
    await admin.execute(ITEMS_OF_TYPES, tenant, workspace, user, items, str(number), first)
    await admin.execute(TAGS, tenant, workspace)
    await admin.execute("DELETE FROM modules.item_tag_counts WHERE workspace_id = $1", workspace)
    await admin.execute(TAG_COUNTS, tenant, workspace)
    await admin.execute(RELATIONS, tenant, workspace, items, first, RELATIONS_OF_ITEM)
    await admin.execute(NUMBERS, tenant, workspace)
    await admin.execute(COUNT, tenant, workspace)
    await admin.execute("SELECT setval(pg_get_serial_sequence('modules.items', 'id'), $1::bigint)", first + items)
    await admin.execute("RESET session_replication_role")
    await admin.execute("VACUUM ANALYZE modules.items, modules.item_tags, modules.item_relations")
    return first
