"""Give the audit log indexes of changes by their kind and of calls by their tool; outcomes leave that of requests."""

from alembic import op

from core.migrations import run_script

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None

# The query leaves outcomes out, and finds those of its calls by time: an index of requests without them is half as
# large, and pays for that of tools. Kinds are compared by their bytes, so that a part of a kind is a range.
UP = """
CREATE INDEX events_by_kind ON audit.events (tenant_id, (kind COLLATE "C"), at, seq)
    WHERE kind <> 'call.intent' AND kind <> 'call.outcome';
CREATE INDEX events_by_tool ON audit.events (tenant_id, tool, at, seq) WHERE tool <> '' AND kind <> 'call.outcome';
DROP INDEX audit.events_by_request;
CREATE INDEX events_by_request ON audit.events (tenant_id, request_id)
    WHERE request_id <> '' AND kind <> 'call.outcome';
"""
DOWN = """
DROP INDEX audit.events_by_request, audit.events_by_tool, audit.events_by_kind;
CREATE INDEX events_by_request ON audit.events (tenant_id, request_id) WHERE request_id <> '';
"""


def upgrade() -> None:
    run_script(op.get_bind(), UP)


def downgrade() -> None:
    run_script(op.get_bind(), DOWN)
