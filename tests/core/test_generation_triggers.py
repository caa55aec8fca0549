"""Which changes of the database raise a tenant's generation, and so void what every process holds of the tenant.

The list is complete, row by row: a change that is missing here takes effect when a cache expires, not within a second.
"""

import re
from typing import LiteralString

import pytest

from tests.support.postgres import ScratchDatabase

ALWAYS = "INSERT DELETE UPDATE"

RAISED_BY = {
    "core.tenants": "UPDATE",
    "core.users": "DELETE UPDATE OF status system_role email",
    "core.roles": "DELETE UPDATE",
    "core.role_assignments": ALWAYS,
    "core.permissions": ALWAYS,
    "core.services": ALWAYS,
    "auth.api_tokens": "DELETE UPDATE OF secret_hmac scopes read_only expires_at revoked_at tool_exposure",
    "auth.clients": "DELETE UPDATE OF disabled_at scopes result_text result_tokens tool_exposure",
    "auth.grants": "UPDATE OF revoked_at",
    "auth.mandates": "UPDATE OF ended_at",
    "auth.sessions": "UPDATE OF ended_at",
    "vault.accounts": "INSERT DELETE UPDATE OF version status reason scopes account vendor_account_id details",
    "vault.credentials": "INSERT DELETE UPDATE OF version state cause account type account_id",
    "vault.oauth_clients": "INSERT DELETE UPDATE OF version state cause settings role_id",
    "vault.providers": ALWAYS,
}

# A change of one of these columns in core.users is its own transaction in the test below.
OF_A_USER: dict[LiteralString, tuple[LiteralString, bool]] = {
    "status": ("'suspended'", True),
    "system_role": ("'admin'", True),
    "email": ("'other@mail.test'", True),
    "name": ("'Ada'", False),
}


def words(definition: str) -> set[str]:
    """`INSERT`, `DELETE`, `UPDATE` and the columns after `OF`, of a trigger as PostgreSQL writes it."""
    found = re.search(r"AFTER (.+?) ON \S+ FOR EACH ROW", definition)
    assert found, definition
    return set(re.findall(r"\w+", found[1])) - {"OR"}


async def test_the_triggers_are_these(database: ScratchDatabase) -> None:
    async with database.admin_connection() as admin:
        rows = await admin.fetch(
            """SELECT t.tgrelid::regclass::text AS relation, pg_get_triggerdef(t.oid) AS definition, t.tgenabled
            FROM pg_trigger t WHERE t.tgfoid = 'core.raise_generation'::regproc AND NOT t.tgisinternal"""
        )
    assert {row["tgenabled"] for row in rows} == {b"O"}
    found: dict[str, set[str]] = {}
    for row in rows:
        found.setdefault(row["relation"], set()).update(words(row["definition"]))
    assert found == {relation: set(text.split()) for relation, text in RAISED_BY.items()}


@pytest.mark.parametrize("column", OF_A_USER)
async def test_a_change_of_a_user(database: ScratchDatabase, make_tenant, column: LiteralString) -> None:
    one, two = await make_tenant(), await make_tenant()
    value, raises = OF_A_USER[column]
    query = "SELECT tenant_id, value FROM core.generations"
    async with database.admin_connection() as admin, database.open("mcpist_console") as console:
        before = dict(await admin.fetch(query))
        async with console.tenant(one.id) as work:
            assert await work.execute(f"UPDATE core.users SET {column} = {value} WHERE tenant_id = $1") == 1
        after = dict(await admin.fetch(query))
    assert after == {one.id: before[one.id] + raises, two.id: before[two.id]}
