"""How tools are shown to clients, as a setting of API tokens, OAuth clients and roles.

Null: what comes next decides (docs/decisions/0143). A role's setting raises the generation by the trigger that all
changes of a role have.
"""

from alembic import op

from core.migrations import run_script

revision = "0047"
down_revision = "0046"
branch_labels = None
depends_on = None

SETTINGS = """
ALTER TABLE auth.api_tokens ADD COLUMN tool_exposure text CHECK (length(tool_exposure) BETWEEN 1 AND 2000);
ALTER TABLE auth.clients ADD COLUMN tool_exposure text CHECK (length(tool_exposure) BETWEEN 1 AND 2000);
ALTER TABLE core.roles ADD COLUMN tool_exposure text CHECK (length(tool_exposure) BETWEEN 1 AND 2000);
DROP TRIGGER raise_generation ON auth.api_tokens;
CREATE TRIGGER raise_generation
    AFTER UPDATE OF secret_hmac, scopes, read_only, expires_at, revoked_at, tool_exposure OR DELETE ON auth.api_tokens
    FOR EACH ROW EXECUTE FUNCTION core.raise_generation();
DROP TRIGGER raise_generation ON auth.clients;
CREATE TRIGGER raise_generation
    AFTER UPDATE OF disabled_at, scopes, result_text, result_tokens, tool_exposure OR DELETE ON auth.clients
    FOR EACH ROW EXECUTE FUNCTION core.raise_generation();
"""

BEFORE = """
DROP TRIGGER raise_generation ON auth.clients;
CREATE TRIGGER raise_generation AFTER UPDATE OF disabled_at, scopes, result_text, result_tokens OR DELETE
    ON auth.clients FOR EACH ROW EXECUTE FUNCTION core.raise_generation();
DROP TRIGGER raise_generation ON auth.api_tokens;
CREATE TRIGGER raise_generation
    AFTER UPDATE OF secret_hmac, scopes, read_only, expires_at, revoked_at OR DELETE ON auth.api_tokens
    FOR EACH ROW EXECUTE FUNCTION core.raise_generation();
ALTER TABLE core.roles DROP COLUMN tool_exposure;
ALTER TABLE auth.clients DROP COLUMN tool_exposure;
ALTER TABLE auth.api_tokens DROP COLUMN tool_exposure;
"""


def upgrade() -> None:
    run_script(op.get_bind(), SETTINGS)


def downgrade() -> None:
    run_script(op.get_bind(), BEFORE)
