"""The fault table: each point of a refresh × what happens to the process or the database there × recovery profile.

A real broker process is held at the point; then it is killed, stopped while another works on, told to end, its caller
leaves, or the database crashes. What must be true afterwards is written down here for every cell (Hydra's table of
storage errors, done with processes). The short form is what `make test` runs; `make test-long` runs all of it.
"""

import contextlib
import os
import re
import signal
from collections.abc import AsyncIterator, Iterator
from itertools import product
from pathlib import Path
from uuid import UUID

import pytest

from broker.connections.account_snapshot import AccessToken, TokenUnavailable, UnavailableReason
from broker.refresh.outcome import boottime
from broker.refresh.outcome_writer import OutcomeWriter
from broker.refresh.spool import Spool
from tests.broker.refresh.processes import BrokerProcess, broker_process
from tests.broker.refresh.refresh_app import RefreshApp, app_on
from tests.broker.refresh.vendor import HOUR, OPTIONS, Vendor
from tests.support.eventually import within
from tests.support.postgres import DatabaseServer, own_server

AT_THE_VENDOR = {
    "sent": {"kind": "hang_up_before", "ms": 1500},
    "in_flight": {"kind": "delay_after", "ms": 1500},
}
"""The vendor holds the call: before it has read it, and after it has rotated."""

POINTS = (
    "before_claim", "claimed", "before_send", "sent", "in_flight", "answered", "spooled", "storing", "stored",
)  # fmt: skip
FAULTS = ("kill", "stop", "end", "leave", "crash")
LEASE = 35
MOMENT = 3
ROOT = Path(__file__).resolve().parents[3]
PAST_EVERYTHING = 400

LOST_TO_STRICT = {
    # Only where the answer reached nothing that outlives the process.
    "kill": {"in_flight", "answered"},
    # The access token has ended, so another process tries the refresh token once more: nothing else was left. A process
    # in the middle of its transaction holds the row until the database ends that.
    "stop": {"in_flight", "answered", "spooled", "storing"},
    "end": set[str](),
    "leave": set[str](),
    "crash": set[str](),
}
SHORT = {("kill", point, "strict") for point in POINTS} | {
    ("kill", "answered", "grace"),
    ("kill", "answered", "non_rotating"),
    ("stop", "before_send", "strict"),
    ("stop", "answered", "grace"),
    ("end", "in_flight", "strict"),
    ("leave", "in_flight", "strict"),
    ("crash", "in_flight", "strict"),
    ("crash", "storing", "strict"),
    ("crash", "sent", "strict"),
    ("end", "stored", "grace"),
}


@pytest.fixture(scope="module")
def crashing_server() -> Iterator[DatabaseServer]:
    """A database server that may crash without hurting anybody else's test."""
    with own_server() as server:
        yield server


@pytest.fixture
async def app(crashing_server: DatabaseServer, vendors: dict[str, Vendor], tmp_path: Path) -> AsyncIterator[RefreshApp]:
    for one in vendors.values():
        await one.reset()
    hosts = [one.host for one in vendors.values()]
    providers = [one.provider for one in vendors.values()]
    async with crashing_server.database() as database, app_on(database, tmp_path, providers, hosts) as made:
        yield made


def cells() -> Iterator[object]:
    for cell in product(FAULTS, POINTS, OPTIONS):
        marks = [] if cell in SHORT else [pytest.mark.long]
        if lost(*cell):
            marks.append(pytest.mark.reuse("nothing is left to lose: the rule of recovery shows the token once more"))
        yield pytest.param(*cell, id="-".join(cell), marks=marks)


def lost(fault: str, point: str, profile: str) -> bool:
    """Whether nobody could have saved the account."""
    return profile == "strict" and point in LOST_TO_STRICT[fault]


@pytest.mark.guarantee("G3", "G4")
@pytest.mark.parametrize(("fault", "point", "profile"), list(cells()))
async def test_what_is_left(
    app: RefreshApp, vendors: dict[str, Vendor], tmp_path: Path, fault: str, point: str, profile: str
) -> None:
    vendor = vendors[profile]
    account = await app.connect(vendor)
    await app.ahead(HOUR + 10)
    held = () if point in AT_THE_VENDOR else (point,)
    async with broker_process(app, [vendor], tmp_path, *held) as broker:
        if point in AT_THE_VENDOR:
            await vendor.fault(**AT_THE_VENDOR[point])
        await broker.fresh(app, account, within=20)
        await _held(vendor, broker, point)
        await DO[fault](app, broker, account, point)
        await _after(app, vendor, account, broker, lost=lost(fault, point, profile))


def test_every_point_of_the_code_is_in_the_table() -> None:
    named = {
        name
        for file in (ROOT / "broker" / "refresh").rglob("*.py")
        for name in re.findall(r'await failpoint\("(\w+)"\)', file.read_text("utf-8"))
    }
    assert named == set(POINTS) - AT_THE_VENDOR.keys()


async def _held(vendor: Vendor, broker: BrokerProcess, point: str) -> None:
    counter = {"sent": "asked:refresh_token", "in_flight": "granted:refresh_token"}.get(point, "")

    async def there() -> bool:
        return (await vendor.counters()).get(counter, 0) == 1

    await (within(10, there) if counter else broker.reaches(point))


async def _killed(app: RefreshApp, broker: BrokerProcess, account: UUID, point: str) -> None:
    await broker.kill()


async def _stopped(app: RefreshApp, broker: BrokerProcess, account: UUID, point: str) -> None:
    """It stops past its lease; another process does what it can; then it wakes up."""
    broker.signal(signal.SIGSTOP)
    broker.sleeps(LEASE)
    await app.ahead(HOUR + 10 + LEASE)
    await app.fresh(account, within=15)
    await app.ahead(HOUR + 10 + LEASE + MOMENT)
    await app.fresh(account, within=15)
    broker.release(point)
    broker.signal(signal.SIGCONT)
    await broker.told()


async def _ended(app: RefreshApp, broker: BrokerProcess, account: UUID, point: str) -> None:
    broker.signal(signal.SIGTERM)
    broker.release(point)
    assert await broker.ended() == 0


async def _left(app: RefreshApp, broker: BrokerProcess, account: UUID, point: str) -> None:
    await broker.order("cancel")
    assert (await broker.told())["cancelled"]
    broker.release(point)
    await _settled(app, account)


async def _crashed(app: RefreshApp, broker: BrokerProcess, account: UUID, point: str) -> None:
    """One killed server process makes PostgreSQL end all others and recover from its log."""
    await _crash_database(app)
    broker.release(point)
    await broker.told()


DO = {"kill": _killed, "stop": _stopped, "end": _ended, "leave": _left, "crash": _crashed}


async def _crash_database(app: RefreshApp) -> None:
    with contextlib.suppress(OSError):  # the connection cannot be closed as it should
        async with app.scratch.admin_connection() as admin:
            os.kill(await admin.fetchval("SELECT pg_backend_pid()"), signal.SIGKILL)

    async def back() -> bool:
        try:
            await app.count("vault.accounts")
        except Exception:  # noqa: BLE001 whatever a server says that is not there yet
            return False
        return True

    await within(20, back)


async def _settled(app: RefreshApp, account: UUID) -> None:
    async def settled() -> bool:
        row = await app.row(account)
        return row["refreshed_at"] is not None or row["last_error_class"] != ""

    await within(20, settled)


async def _after(app: RefreshApp, vendor: Vendor, account: UUID, broker: BrokerProcess, *, lost: bool) -> None:
    """The next start of that process, on the same disk, when every lease and backoff is over."""
    spool = Spool(broker.folder / "spool")
    settler = OutcomeWriter(app.database, app.vault, spool, app.tools.timing, boottime)
    following = app.another(outcome_writer=settler)
    await following.replay_spool()
    await app.ahead(HOUR + 10 + LEASE * 2 + 5)
    answer = await following.get_access_token(app.tenant.id, account)
    if isinstance(answer, TokenUnavailable) and answer.reason is UnavailableReason.VENDOR:
        await app.ahead(HOUR + PAST_EVERYTHING)
        answer = await following.get_access_token(app.tenant.id, account)
    if lost:
        if isinstance(answer, AccessToken):  # what came late; the vendor has ended it meanwhile, as its API will say
            assert not await vendor.takes(answer.token)
            await app.ahead(HOUR + PAST_EVERYTHING)
            answer = await following.get_access_token(app.tenant.id, account, rejected_version=answer.version)
        assert answer == TokenUnavailable(UnavailableReason.NEEDS_REAUTH, "lost_rotation")
        assert await vendor.reuses() <= 2
        return
    assert isinstance(answer, AccessToken), answer
    assert await vendor.takes(answer.token)
    assert await vendor.reuses() == 0
    row = await app.row(account)
    assert (row["status"], row["lease_owner"]) == ("active", None)
    await app.ahead(3 * HOUR)
    again = await following.get_access_token(app.tenant.id, account)
    assert isinstance(again, AccessToken), "and the refresh token that is stored is good as well"
    assert await vendor.reuses() == 0
