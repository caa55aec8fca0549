"""Histories of many steps, found by hypothesis: whatever happens in whatever order, the promises hold.

Rules: connect, use, expire, refresh, a 401, every fault, an answer that comes late, a process that is killed or started
again on its spool, a user who removes us at the vendor, keys that rotate, a copy that is restored, a delete. The model
is what the vendor knows.
"""

import asyncio
import contextlib
import secrets
import tempfile
from collections.abc import Coroutine, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, ClassVar, TypeVar
from uuid import UUID

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from broker.connections.account_repository import AccountGrant, replace_grant
from broker.connections.account_snapshot import (
    ACCESS_FIELD,
    REFRESH_FIELD,
    AccessToken,
    TokenUnavailable,
    UnavailableReason,
    build_account_context,
)
from broker.oauth_client.types import OAuthClientConfig
from broker.providers.schema import Provider
from broker.refresh.token_service import AccountTokenService
from broker.vault.credential_store import CredentialOwner
from broker.vault.deployment_guard import DeploymentGuard, adopt, mark_as_copy
from broker.vault.key_rewrap import DataKeyRows, rewrap_keys
from broker.vault.key_wrapping import InMemoryKeyProvider
from broker.vault.reencryption import Reencryption
from broker.vault.vault import NotAdopted, Vault
from core.directory.audit_trail import Actor
from core.secret import Secret
from tests.broker.refresh.refresh_app import RefreshApp, app_on, now
from tests.broker.refresh.simulated import Fault, SimulatedVendor
from tests.support.postgres import DatabaseServer

LIFE = 1000.0
LEASE = 40.0
ACTOR = Actor("tests")
CLIENT = OAuthClientConfig("client", Secret("cs-00000001-of-the-client"))

T = TypeVar("T")


class History(RuleBasedStateMachine):
    """One account, three broker processes, one vendor."""

    server: ClassVar[DatabaseServer]

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.stack = AsyncExitStack()
        self.clock = 0.0
        self.late: asyncio.Task[Any] | None = None
        self.was_late = False
        self.versions = [0]
        self.rotations = 0

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)

    @initialize(profile=st.sampled_from(["strict", "grace", "non_rotating"]))
    def connect(self, profile: str) -> None:
        self.vendor = SimulatedVendor(profile, LIFE)
        self.app, self.account = self.do(self._connected())
        self.brokers = [self._broker() for _ in range(3)]

    async def _connected(self) -> tuple[RefreshApp, UUID]:
        folder = Path(self.stack.enter_context(tempfile.TemporaryDirectory()))
        scratch = await self.stack.enter_async_context(self.server.database())
        provider = Provider.model_validate(self.vendor.document)
        app = await self.stack.enter_async_context(app_on(scratch, folder, [provider]))
        self.folder, self.provider = folder, provider
        self.keys, self.key = app.keys, "k1"
        return app, await app.link(provider, CLIENT, self.vendor.tokens())

    def _broker(self) -> AccountTokenService:
        return self.app.with_endpoint(self.vendor)  # type: ignore[arg-type]

    @rule(broker=st.integers(0, 2), reject=st.booleans())
    def use(self, broker: int, reject: bool) -> None:
        rejected = self.versions[-1] if reject else None
        answer = self.do(self._fresh(self.brokers[broker], rejected_version=rejected))
        if isinstance(answer, AccessToken):
            assert answer.version != rejected
            assert answer.expires_in is not None
            assert answer.expires_in > 0

    @rule(seconds=st.sampled_from([3.0, LEASE, 320.0, LIFE, 2 * LIFE]))
    def wait(self, seconds: float) -> None:
        self.clock += seconds
        self.do(self.app.ahead(self.clock))

    @rule(fault=st.sampled_from(["lost_before", "lost_after", "throttled", "not_sent", "service"]))
    def break_the_next_call(self, fault: Fault) -> None:
        self.vendor.fault = fault

    @rule()
    def many_at_once(self) -> None:
        self.do(self._many())

    async def _many(self) -> None:
        await asyncio.gather(*(self._fresh(broker) for broker in self.brokers for _ in range(5)))

    @rule()
    def begin_what_will_be_late(self) -> None:
        """A process refreshes, and its answer is on its way when its lease runs out."""
        if self.late is None and self.vendor.calling == 0:
            self.do(self._begun())

    async def _begun(self) -> None:
        self.vendor.held, self.vendor.go = True, asyncio.Event()
        self.late = asyncio.create_task(self.brokers[2].refresh(self.app.tenant.id, self.account))
        async with asyncio.timeout(10):
            while self.vendor.held and not self.late.done():
                await asyncio.sleep(0.005)
        self.vendor.held = False
        if self.late.done():
            self.late = None
        else:
            self.was_late = True
            self.clock += LEASE
            await self.app.ahead(self.clock)
            self.brokers[2] = self._broker()  # what is asked of that process from now on is asked of another

    @rule(killed=st.booleans())
    def end_what_is_late(self, killed: bool) -> None:
        if self.late is not None:
            self.do(self._arrived(killed))

    async def _arrived(self, killed: bool) -> None:
        late, self.late = self.late, None
        assert late is not None
        if killed:
            self.vendor.answers_lost += 1
            for task in asyncio.all_tasks() - {asyncio.current_task()}:
                if "SingleFlight" in repr(task.get_coro()):
                    task.cancel()
        self.vendor.go.set()
        await asyncio.gather(late, return_exceptions=True)
        await self.brokers[0].replay_spool()

    @rule(broker=st.integers(0, 2))
    def refresh(self, broker: int) -> None:
        """Ahead of its time, as the sweeper does."""
        self.do(self.brokers[broker].refresh(self.app.tenant.id, self.account))

    @rule()
    def connect_again(self) -> None:
        """The account gets a new grant: what the old one still brings is void."""
        if self.late is None:
            self.do(self._connected_again())

    async def _connected_again(self) -> None:
        self.vendor.granted_anew()
        async with self.app.database.tenant(self.app.tenant.id) as work:
            client = self.app.clients[self.provider.id]
            assert self.provider.oauth is not None
            owner = CredentialOwner("personal", self.app.tenant.users[0])
            grant = AccountGrant(self.provider.id, client, owner, self.vendor.tokens(), self.provider.oauth.refresh)
            await replace_grant(work, self.app.vault, self.account, grant)
        self.was_late = False
        self.vendor.answers_lost = 0

    @rule()
    def delete(self) -> None:
        """Disconnected and connected anew: the account is another one."""
        if self.late is None:
            self.do(self._deleted())

    async def _deleted(self) -> None:
        gone = self.account
        await self.app.execute("DELETE FROM vault.accounts WHERE id = $1", gone)
        calls = self.vendor.calls
        for broker in self.brokers:
            assert await self._fresh_of(broker, gone) == TokenUnavailable(UnavailableReason.MISSING)
        await self.brokers[0].replay_spool()  # what lay in the spool brings nothing back
        assert await self.app.count("vault.accounts") == 0
        assert await self.app.count("vault.candidates") == 0
        assert self.vendor.calls == calls
        self.vendor.granted_anew()
        self.account = await self.app.link(self.provider, CLIENT, self.vendor.tokens())
        self.versions = [0]
        self.was_late = False
        self.vendor.answers_lost = 0

    @rule()
    def rotate_key(self) -> None:
        """A new key-encryption key, every secret under a new data key, and the old key is gone."""
        self.do(self._rotated())

    async def _rotated(self) -> None:
        self.rotations += 1
        old, self.key = self.key, f"k{self.rotations}-new"
        self.keys._keys[self.key] = secrets.token_bytes(32)
        self.keys._active = self.key
        app, deployment = self.app, await self.app.database.call("SELECT id FROM core.deployment")
        run = Reencryption(app.database, Vault(self.keys, deployment, clock=now), self.keys, lambda _: None)
        await rewrap_keys(app.database, self.keys, DataKeyRows(deployment, app.tenant.id), lambda: None)
        done = await run.reencrypt_tenant(app.tenant.id, fresh=True)
        assert (done.busy, done.damaged) == (0, 0)
        del self.keys._keys[old]

    @rule()
    def restore(self) -> None:
        """Somebody starts a copy of the database: it asks the vendor nothing, whatever is wanted of it."""
        self.do(self._restored())

    async def _restored(self) -> None:
        calls = self.vendor.calls
        guard = DeploymentGuard(self.app.database, self.folder / "deployment-id")
        await guard.verify_deployment()
        await mark_as_copy(self.app.database)
        await guard.verify_deployment()
        deployment = await self.app.database.call("SELECT id FROM core.deployment")
        copy = self.app.another(vault=Vault(self.keys, deployment, clock=now, guard=guard), endpoint=self.vendor)
        before = await self.app.row(self.account)
        try:
            with contextlib.suppress(NotAdopted):
                answer = await self._fresh(copy)
                assert isinstance(answer, TokenUnavailable), "no token of the original's"
        finally:
            await adopt(self.app.database, self.folder / "deployment-id", ACTOR)
            await guard.verify_deployment()
        assert self.vendor.calls == calls, "a copy asks nobody"
        assert await self.app.row(self.account) == before

    @rule()
    def the_user_removes_us(self) -> None:
        if self.vendor.reuses == 0 and self.vendor.number > 2:
            self.vendor.revoked = True

    @invariant()
    def promises(self) -> None:
        if hasattr(self, "app"):
            self.do(self._hold())

    async def _hold(self) -> None:
        row = await self.app.row(self.account)
        assert self.vendor.most_calling <= 1, "never two calls at once"
        assert row["version"] >= self.versions[-1], "versions only grow"
        self.versions.append(row["version"])
        excused = self.was_late or self.vendor.answers_lost > 0
        assert self.vendor.reuses == 0 or excused, "shown again though every answer arrived"
        if row["status"] == "needs_reauth":
            self._explained(row["reason"])
        await self._decrypts(row)

    async def _decrypts(self, row: Mapping[str, Any]) -> None:
        """By the current key alone, every version of every token that is stored."""
        deployment = await self.app.database.call("SELECT id FROM core.deployment")
        alone = InMemoryKeyProvider(self.key, {self.key: self.keys._keys[self.key]})
        vault = Vault(alone, deployment, clock=now)
        async with self.app.database.tenant(self.app.tenant.id) as work:
            for field in (ACCESS_FIELD, REFRESH_FIELD):
                plain = await vault.open(work, build_account_context(row["id"], field, row["version"]), row[field])
                assert plain.decode().endswith("-of-a-simulated-vendor")

    def _explained(self, reason: str) -> None:
        assert self.vendor.revoked or self.vendor.dead, "nobody has to come back to a vendor that knows the grant"
        if reason != "lost_rotation":
            assert self.vendor.revoked, "the user is not blamed for our loss"

    async def _fresh(self, broker: AccountTokenService, **options: Any) -> AccessToken | TokenUnavailable:
        return await self._fresh_of(broker, self.account, **options)

    async def _fresh_of(
        self, broker: AccountTokenService, account: UUID, **options: Any
    ) -> AccessToken | TokenUnavailable:
        return await broker.get_access_token(self.app.tenant.id, account, within=3, **options)

    def teardown(self) -> None:
        if self.late is not None:
            self.do(self._arrived(killed=False))
        if hasattr(self, "app"):
            self.do(self.stack.aclose())
        self.runner.close()


def history(server: DatabaseServer, examples: int, steps: int) -> None:
    History.server = server
    health = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
    wanted = settings(
        max_examples=examples, stateful_step_count=steps, deadline=None, derandomize=True, suppress_health_check=health
    )
    run_state_machine_as_test(History, settings=wanted)


@pytest.mark.guarantee("G1")
@pytest.mark.timeout(300)
def test_every_history_keeps_the_promises(database_server: DatabaseServer) -> None:
    asyncio.run(database_server.template())
    history(database_server, 8, 16)


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_many_histories_keep_the_promises(database_server: DatabaseServer) -> None:
    asyncio.run(database_server.template())
    history(database_server, 100, 40)
