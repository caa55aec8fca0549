"""A rewrite leaves nothing deleted behind where a snapshot ends meanwhile.

A row that an open snapshot may still see is copied by CLUSTER. Where that snapshot ended before CLUSTER made the new
index, the row was not in it, and could not be told by the index's count: the marks went, the text stayed. So the old
index is built anew first, under the same lock. Where it has no deleted row, none can be seen any more and none is
copied, and a table that would have to be rewritten once more is not rewritten in vain.
"""

from alembic import op

from core.migrations import run_script

revision = "0059"
down_revision = "0058"
branch_labels = None
depends_on = None

# The count after CLUSTER is for a server with other databases: by a transaction of theirs, a snapshot that is taken
# between the two steps may see rows that none saw before.
REWRITE = """
CREATE OR REPLACE FUNCTION core.rewrite_dirty_table(p_name text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    SET maintenance_work_mem = '256MB' SET max_parallel_maintenance_workers = 0 AS $$
    DECLARE
        marked regclass;
        key record;
        step text;
        written real;
        seen bigint;
    BEGIN
        SELECT to_regclass(d.name) INTO marked FROM core.dirty_tables d WHERE d.name = p_name LIMIT 1;
        IF marked IS NOT NULL THEN
            SELECT c.oid, c.relname INTO STRICT key FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
                WHERE i.indrelid = marked AND i.indisunique AND i.indpred IS NULL
                ORDER BY i.indisprimary DESC, c.relname LIMIT 1;
            EXECUTE format('SELECT count(*) FROM %s', marked) INTO seen;
            FOREACH step IN ARRAY ARRAY[
                format('REINDEX INDEX %s', key.oid::regclass), format('CLUSTER %s USING %I', marked, key.relname)]
            LOOP
                EXECUTE step;
                SELECT c.reltuples INTO written FROM pg_class c WHERE c.oid = key.oid;
                IF greatest(written, 0) <> seen::real THEN  -- -1: never counted, as of an empty one
                    RETURN false;
                END IF;
            END LOOP;
            PERFORM core.renew_statistics(marked, seen = 0);
        END IF;
        DELETE FROM core.dirty_tables d WHERE d.name = p_name;
        RETURN true;
    END $$;
"""


def upgrade() -> None:
    run_script(op.get_bind(), REWRITE)


def downgrade() -> None:
    """The function stays: earlier versions call it as they called theirs."""
