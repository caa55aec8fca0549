"""Every statement about refused credentials without its tenant filter: no foreign row is read or changed."""

import ast
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from broker.interface import Lease
from broker.rejections.rejected_credentials import claim_recheck
from broker.rejections.report import RejectionTiming, report_rejection
from broker.rejections.verdicts import CredentialVerdict, ProbeResult, apply_verdict
from tests.broker.broker_harness import BASE_URLS, BrokerHarness, Person
from tests.core.directory.test_isolation import FILTER, pair_mutants, watched
from tests.support.mutation import Mutator, find_leaks, together_and_alone

WRITTEN_IN = Path(__file__).parents[3] / "broker" / "rejections"
SLUGS = (f"tenant-{number}" for number in count())
AT_ONCE = RejectionTiming(
    min_pause=0.0,
    max_pause=0.0,
    certain_after=0.0,
    min_rechecks=0,
    broken_interval=0.0,
    claim_timeout=0.0,
    acceptance_grace=0.0,
    mass_minimum=10_000,
)
"""Everything is due at once, and nobody is one of many."""
VERDICTS = (
    CredentialVerdict.BUSY,
    CredentialVerdict.UNKNOWN,
    CredentialVerdict.REJECTED,
    CredentialVerdict.REJECTED,
    CredentialVerdict.ACCEPTED,
)


async def told(app: BrokerHarness) -> list[Any]:
    """A key and an account that the vendor refuses, asked about until they are broken, and taken back."""
    tenant = await app.tenant(next(SLUGS))
    await app.role(tenant, "all", allow=["*"])
    ada = await app.person(tenant, "ada@example.test", "all")
    await app.put(tenant, ada.own, "key-1", account="ada")
    account = await app.connect(ada, "notion", {})
    lease = await app.leases.lease(ada.asks())
    assert isinstance(lease, Lease)
    async with app.trusted.tenant(tenant) as work:
        version = await work.fetchval("SELECT version FROM vault.accounts WHERE tenant_id = $1 AND id = $2", account)
        of_account = await work.fetchval(_OF_ACCOUNT, account)
    said: list[Any] = [
        await asked_about(app, tenant, lease.credential_id, lease.version),
        await asked_about(app, tenant, of_account, version),
    ]
    await replaced(app, ada)
    async with app.trusted.tenant(tenant) as work:
        said.append(await claim_recheck(work, app.vault, lease.credential_id, BASE_URLS, AT_ONCE))  # it is forgotten
        row = await work.fetchrow(_HOW, lease.credential_id)
    return [*said, None if row is None else tuple(row.values())]


async def asked_about(app: BrokerHarness, tenant: UUID, credential: UUID, version: int) -> list[Any]:
    said: list[Any] = []
    async with app.trusted.tenant(tenant) as work:
        await report_rejection(work, credential, version, "https://own.test", AT_ONCE)
    for verdict in VERDICTS:
        await app.execute("UPDATE vault.credentials SET recheck_at = now() WHERE id = $1", credential)
        async with app.trusted.tenant(tenant) as work:
            found = await claim_recheck(work, app.vault, credential, BASE_URLS, AT_ONCE)
        if found is None:
            said.append(None)
            continue
        async with app.trusted.tenant(tenant) as work:
            settled = await apply_verdict(work, found[0], ProbeResult(verdict), AT_ONCE, lambda: 0.5)
            row = await work.fetchrow(_HOW, credential)
        said.append((found[0].secret.reveal()[:3], settled.name, None if row is None else tuple(row.values())))
    return said


async def replaced(app: BrokerHarness, ada: Person) -> None:
    """A question is left over of a version that is not there any more."""
    await app.put(ada.tenant_id, ada.own, "key-2", account="ada")
    await app.execute(
        "UPDATE vault.credentials SET recheck_at = now(), rechecks = 7 WHERE tenant_id = $1", ada.tenant_id
    )


async def outcome(app: BrokerHarness, monkeypatch: pytest.MonkeyPatch, mutator: Mutator) -> tuple[list[Any], bool]:
    """What a story tells, and whether everything older was left alone."""
    before = await stored(app)
    with monkeypatch.context() as patch:
        watched(patch, mutator)
        said = await told(app)
    return said, before <= await stored(app)


async def stored(app: BrokerHarness) -> set[str]:
    async with app.database.admin_connection() as admin:
        tables = "vault.credentials", "vault.accounts"
        rows = [row[0] for table in tables for row in await admin.fetch(f"SELECT t::text FROM {table} t")]
    return set(rows)


def written() -> list[str]:
    trees = (ast.parse(path.read_text("utf-8")) for path in WRITTEN_IN.glob("*.py"))
    texts = (node.value for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return sorted({text for text in texts if isinstance(text, str) and FILTER.search(text)})


@together_and_alone
async def test_each_statement_without_its_filter_shows_and_changes_nothing_more(
    app: BrokerHarness, monkeypatch: pytest.MonkeyPatch, alone: bool
) -> None:
    mutator = Mutator()
    expected, untouched = await outcome(app, monkeypatch, mutator)
    assert untouched
    assert [sql for sql in written() if sql not in mutator.seen] == [], "a statement is missing from the story"
    assert len(written()) >= 9
    tell = partial(outcome, app, monkeypatch)
    assert await find_leaks(pair_mutants(written()), tell, (expected, True), alone=alone) == []


_OF_ACCOUNT = "SELECT id FROM vault.credentials WHERE tenant_id = $1 AND account_id = $2"
_HOW = """SELECT c.state, a.status, c.held_back, c.rechecks, c.recheck_at IS NOT NULL FROM vault.credentials c
    LEFT JOIN vault.accounts a ON a.tenant_id = c.tenant_id AND a.id = c.account_id
    WHERE c.tenant_id = $1 AND c.id = $2"""
