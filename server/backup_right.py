"""The right that a backup needs, looked for before anything is written."""

from core.database_url import DatabaseAddress
from core.db import connect
from server.postgres.errors import BackupError


async def check_backup_right(admin: DatabaseAddress) -> None:
    """Make sure that the login sees every row: row-level security is forced on all tables of tenants.

    Raises:
        BackupError: it does not; the text says which right is missing.
        core.errors.Unavailable: the database cannot be reached.
    """
    connection = await connect(admin)
    try:
        row = await connection.fetchrow(_RIGHT)
    finally:
        await connection.close()
    if not row["sees_all"]:
        raise BackupError(
            f"No backup was made: the role {row['rolname']} is bound by row-level security, so rows would be missing. "
            f"Have a superuser run `ALTER ROLE {row['rolname']} BYPASSRLS`, or set MCPIST_DATABASE_URL to a role that "
            "has it, for this command"
        )


_RIGHT = "SELECT rolname, rolsuper OR rolbypassrls AS sees_all FROM pg_roles WHERE rolname = current_user"
