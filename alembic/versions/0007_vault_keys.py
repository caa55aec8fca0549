"""Keys of the vault that change while it runs, and which database is the one that may talk to vendors.

`vault.key_checks` has a row for every key that has sealed something, and whatever such a key seals refers to it: so
taking the row away proves that nothing hangs on the key, of any tenant, by a check that no policy hides a row from.
A retired key keeps a row with its time, so that a process with an old key file cannot seal with it again.
"""

from alembic import op

from core.migrations import run_script

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

# `rewrapped`: the data key was born under another key than the one that wraps it now. Names of key services are long.
KEYS = """
ALTER TABLE vault.key_checks DROP CONSTRAINT key_checks_kek_id_check;
ALTER TABLE vault.key_checks ADD CONSTRAINT key_checks_kek_id_check CHECK (length(kek_id) BETWEEN 1 AND 500);
ALTER TABLE vault.key_checks ADD COLUMN retired_at timestamptz;
ALTER TABLE vault.deks ADD COLUMN rewrapped boolean NOT NULL DEFAULT false;
CREATE POLICY broker_takes_key_checks_away ON vault.key_checks FOR DELETE TO mcpist_broker USING (true);
GRANT DELETE ON vault.key_checks TO mcpist_broker;
"""

# `instance` is what the data folder's own id is compared with, `place` the server and database that it was set in:
# both are wrong in a copy. Empty until the first start. The id that ciphertexts are bound to is the same in every copy.
DEPLOYMENT = """
ALTER TABLE core.deployment ADD COLUMN instance uuid, ADD COLUMN place text NOT NULL DEFAULT '';
CREATE POLICY broker_adopts ON core.deployment FOR UPDATE TO mcpist_broker USING (true) WITH CHECK (true);
GRANT UPDATE (instance, place) ON core.deployment TO mcpist_broker;
"""


def upgrade() -> None:
    for script in (KEYS, DEPLOYMENT):
        run_script(op.get_bind(), script)


def downgrade() -> None:
    op.execute("DROP POLICY broker_adopts ON core.deployment")
    op.execute("REVOKE UPDATE (instance, place) ON core.deployment FROM mcpist_broker")
    op.execute("ALTER TABLE core.deployment DROP COLUMN instance, DROP COLUMN place")
    op.execute("DROP POLICY broker_takes_key_checks_away ON vault.key_checks")
    op.execute("REVOKE DELETE ON vault.key_checks FROM mcpist_broker")
    op.execute("ALTER TABLE vault.deks DROP COLUMN rewrapped")
    op.execute("ALTER TABLE vault.key_checks DROP COLUMN retired_at")
    op.execute("ALTER TABLE vault.key_checks DROP CONSTRAINT key_checks_kek_id_check")
    op.execute(
        "ALTER TABLE vault.key_checks ADD CONSTRAINT key_checks_kek_id_check "
        "CHECK (length(kek_id) BETWEEN 1 AND 200) NOT VALID"
    )
