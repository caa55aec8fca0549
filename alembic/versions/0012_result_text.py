"""What clients are sent beside a result's structured part, as a setting of API tokens and of OAuth clients."""

from alembic import op

from core.migrations import run_script

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

# Null: what is known of the client decides (core.known_clients).
COLUMNS = """
ALTER TABLE auth.api_tokens ADD COLUMN result_text text CHECK (result_text IN ('short', 'full'));
ALTER TABLE auth.clients ADD COLUMN result_text text CHECK (result_text IN ('short', 'full'));
DROP TRIGGER raise_generation ON auth.clients;
CREATE TRIGGER raise_generation AFTER UPDATE OF disabled_at, scopes, result_text OR DELETE ON auth.clients
    FOR EACH ROW EXECUTE FUNCTION core.raise_generation();
"""

BEFORE = """
DROP TRIGGER raise_generation ON auth.clients;
CREATE TRIGGER raise_generation AFTER UPDATE OF disabled_at, scopes OR DELETE ON auth.clients
    FOR EACH ROW EXECUTE FUNCTION core.raise_generation();
ALTER TABLE auth.clients DROP COLUMN result_text;
ALTER TABLE auth.api_tokens DROP COLUMN result_text;
"""


def upgrade() -> None:
    run_script(op.get_bind(), COLUMNS)


def downgrade() -> None:
    run_script(op.get_bind(), BEFORE)
