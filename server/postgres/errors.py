"""Errors of the embedded PostgreSQL. Every message is for the operator and says what to do next."""


class PostgresError(Exception):
    """The embedded server, or a backup, cannot go on."""


class HomeInUse(PostgresError):
    """Another process owns this data folder: attach to its server instead of starting one."""


class OwnerGone(PostgresError):
    """Raised where no process owns this data folder any more: start the server instead of attaching."""


class BackupError(PostgresError):
    """A dump or a restore did not happen; nothing was left half done."""
