"""Conditions of row-level security for rows of one person, a role or the whole tenant: the database decides who reads
and writes them, whatever the code does.

A row has the columns `owner` (``user``, ``role`` or ``tenant``), `user_id`, `role_id` and `member_writes`.
"""

from typing import LiteralString

IS_ADMINISTRATOR: LiteralString = """EXISTS (SELECT FROM core.users u WHERE u.tenant_id = core.current_tenant()
    AND u.id = core.current_user_id() AND u.system_role = 'admin')"""
ROLES_OF_USER: LiteralString = """SELECT a.role_id FROM core.role_assignments a
            WHERE a.tenant_id = core.current_tenant() AND a.user_id = core.current_user_id()"""


def build_readable(row: LiteralString) -> LiteralString:
    """Build the condition that the transaction's user may read the row of this name."""
    return f"""CASE {row}.owner
        WHEN 'user' THEN {row}.user_id = core.current_user_id()
        WHEN 'role' THEN {row}.role_id IN ({ROLES_OF_USER})
        ELSE EXISTS (SELECT FROM core.users u
            WHERE u.tenant_id = core.current_tenant() AND u.id = core.current_user_id()) END"""


def build_writable(row: LiteralString) -> LiteralString:
    """Build the condition that they may write to it, if they may read it."""
    return f"({row}.owner = 'user' OR {row}.member_writes OR {IS_ADMINISTRATOR})"
