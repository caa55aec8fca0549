"""Run migrations as ``mcpist_owner`` on the connection that core.migrations hands over."""

from alembic import context
from sqlalchemy import text

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=None, version_table_schema="public")
with context.begin_transaction():
    connection.execute(text("SET LOCAL ROLE mcpist_owner"))
    connection.execute(text("SET LOCAL lock_timeout = '10s'"))
    context.run_migrations()
