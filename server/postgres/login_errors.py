"""Explanation of logins that the database refuses."""

import re

INVALID_PASSWORD_ERROR = "InvalidPasswordError"  # noqa: S105 no secret
"""The name of asyncpg's error, for those who do without its import."""
LOGIN_REFUSED_ERROR = "LoginRefused"
"""The name of :class:`core.database_login.LoginRefused`, likewise."""
_USER = re.compile(r'user "([^"]{1,63})"')


def explain_refused_login(error: BaseException) -> str:
    """Explain the remedy for asyncpg's InvalidPasswordError: whose password it was, and which file it stands in; for
    its InvalidAuthorizationSpecificationError as :func:`explain_refused_entry`."""
    from core.migrations import LOGIN_ROLES  # after the refusal: `mcpist --help` loads no database client
    from server.postgres.cluster import SUPERUSER

    match = _USER.search(str(error))
    user = match[1] if match else ""
    if type(error).__name__ != INVALID_PASSWORD_ERROR:
        return explain_refused_entry(user)
    if user in LOGIN_ROLES:
        file = "keys/database-roles.json in the data folder is not the one that this database was set up with"
    elif user == SUPERUSER:
        file = "postgres/superuser.password in the data folder, or the password in MCPIST_DATABASE_URL, is not its own"
    else:
        return "the database refuses the login: correct the password in MCPIST_DATABASE_URL"
    return f"the database refuses the login of {user}: {file}. Put the right one back"


def explain_refused_entry(user: str) -> str:
    """Explain the remedy where not the password, but something before it was refused."""
    return (
        f"the database refuses the login of {user or 'its user'}: its pg_hba.conf has no entry for it from here, or "
        "demands a client certificate, which sslcert and sslkey in MCPIST_DATABASE_URL have to name"
    )
