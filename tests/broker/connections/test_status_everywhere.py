"""Every state and cause of a connection, personal and shared, as every surface tells it: one table."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2
import pytest

from broker.connections.connection_status import HealthState, describe_cause, get_catalogue_word
from broker.interface import Lease, LeaseRequest, NoCredential
from broker.notifications.outbox import UserNotification, read_notification
from broker.notifications.templates import render_notification
from broker.vault.credential_store import CredentialStore
from broker.vault.origin_policy import ORIGIN_CHANGED
from core.connection_causes import OTHER, find_cause
from core.directory.services import set_settings
from core.secret import Secret
from tests.broker.connect.connect_app import shown
from tests.broker.doctor.doctor_app import Case, DoctorApp, doctor_app_on
from tests.support.eventually import within
from tests.support.postgres import ScratchDatabase
from tests.support.product import ACTOR

EXPIRED = "expires_at = vault.clock() - interval '1 minute'"
LATER = "vault.clock() + interval '1 hour'"


@dataclass(frozen=True, slots=True)
class Told:
    """What each surface says. `set_up` are SQL statements for the tenant $1; `schema` is what get_module_schema says of
    a personal one, `lease` the cause for which a call gets no token ("" where it gets one), `page` a text of the
    connect page, `progress` how a new connect session for the module begins, and `notice` whether somebody is told.
    `key` is a pasted key instead of an account that was connected by OAuth."""

    set_up: tuple[str, ...]
    state: HealthState
    cause: str
    schema: tuple[str, str]
    lease: str
    page: str
    progress: tuple[str, str]
    doctor: str
    responsible: str = ""
    notice: bool = False
    key: bool = False


def reconnect(cause: str, page: str) -> Told:
    set_up = f"UPDATE vault.accounts SET status = 'needs_reauth', reason = '{cause}' WHERE tenant_id = $1"
    waiting = ("waiting", "")
    return Told(
        (set_up,),
        HealthState.NEEDS_RECONNECT,
        cause,
        ("broken", cause),
        cause,
        page,
        waiting,
        "is broken",
        "owner",
        True,
    )


def transient(set_up: str, state: HealthState, cause: str, lease: str, page: str, doctor: str) -> Told:
    return Told((set_up,), state, cause, ("connected", ""), lease, page, ("done", ""), doctor)


def refused_client(cause: str) -> Told:
    client = f"UPDATE vault.oauth_clients SET state = 'misconfigured', cause = '{cause}', breaker_until = {LATER}"
    return Told(
        (f"{client} WHERE tenant_id = $1", f"UPDATE vault.accounts SET {EXPIRED} WHERE tenant_id = $1"),
        HealthState.SERVICE_MISCONFIGURED, cause, ("broken", "misconfigured"), "misconfigured",
        "tell your administrator", ("failed", cause), "refuses the OAuth client", "administrator", True,
    )  # fmt: skip


def broken_key(cause: str, page: str) -> Told:
    set_up = f"UPDATE vault.credentials SET state = 'broken', cause = '{cause}' WHERE tenant_id = $1"
    return replace(reconnect(cause, page), set_up=(set_up,), key=True)


def in_doubt(version: str, *set_up: str) -> Told:
    """Refused by the vendor, and asked about again before anybody has to do something."""
    held = f"held_back = true, rejected_version = {version}, rejected_last = vault.clock(), recheck_at = {LATER}"
    return replace(
        transient(
            "",
            HealthState.REFUSED,
            "in_doubt",
            "in_doubt",
            "refuses this account or key just now",
            "waits, the vendor refuses it",
        ),
        set_up=(*set_up, f"UPDATE vault.credentials SET {held} WHERE tenant_id = $1"),
    )


MOVED = "moved"
KEY = "made-up-key-0123456789"
MOVED_AWAY = replace(
    reconnect("elsewhere", "base URL was changed after it was connected"), set_up=(MOVED,), notice=False
)
WITHOUT_REFRESH_TOKEN = "UPDATE vault.accounts SET refresh = NULL WHERE tenant_id = $1"
ACCOUNT_VERSION = "(SELECT a.version FROM vault.accounts a WHERE a.id = account_id)"
TABLE = {
    "connected": Told(
        (), HealthState.CONNECTED, "", ("connected", ""), "", "Connected as", ("done", ""), "is connected"
    ),
    "revoked": reconnect("revoked", "access was taken back there"),
    "expired": reconnect("expired", "The connection has run out"),
    "lost rotation": reconnect("lost_rotation", "The vendor's answer was lost"),
    "scope": reconnect("scope", "The grant does not cover what is needed"),
    "account disabled": reconnect("account_disabled", "The account is disabled at the vendor"),
    "interaction": reconnect("interaction", "wants the person to sign in"),
    "moved base URL": MOVED_AWAY,
    "refused client": refused_client("client_refused"),
    "secret expired": refused_client("secret_expired"),
    "vendor down": transient(
        f"UPDATE vault.accounts SET {EXPIRED}, last_error_class = 'throttled', next_try_at = {LATER} "
        "WHERE tenant_id = $1",
        HealthState.VENDOR_DOWN, "throttled", "vendor",
        "MCPist tries again by itself", "waits, the vendor asks to wait",
    ),
    "refreshing": transient(
        "UPDATE vault.accounts SET lease_owner = gen_random_uuid(), lease_until = "
        f"{LATER} WHERE tenant_id = $1",
        HealthState.REFRESHING, "", "", "The access is being renewed", "is being renewed",
    ),
    "disabled": Told(
        ("UPDATE vault.accounts SET status = 'disabled' WHERE tenant_id = $1",),
        HealthState.DISABLED, "disabled", ("broken", "disabled"), "disabled",
        "An administrator has switched it off", ("waiting", ""), "is switched off", "administrator",
    ),
    "in doubt": in_doubt(ACCOUNT_VERSION, WITHOUT_REFRESH_TOKEN),
    "pasted key": Told(
        (), HealthState.CONNECTED, "", ("connected", ""), "", "Connected as", ("done", ""), "is connected", key=True
    ),
    "rejected key": broken_key("rejected", "has expired or was revoked there"),
    "unreadable key": broken_key("unreadable", "was changed in the database"),
    "key in doubt": replace(in_doubt("version"), key=True),
    "key of a moved base URL": replace(MOVED_AWAY, key=True),
}  # fmt: skip
SHARE = (
    "UPDATE vault.credentials SET role_id = $2, user_id = NULL WHERE tenant_id = $1",
    "UPDATE vault.accounts SET role_id = $2, user_id = NULL WHERE tenant_id = $1",
)


@pytest.fixture
async def app(database: ScratchDatabase, tmp_path: Path) -> AsyncIterator[DoctorApp]:
    async with doctor_app_on(database, tmp_path, "google") as made:
        yield made


def test_every_state_has_a_row() -> None:
    assert {told.state for told in TABLE.values()} == {*HealthState} - {HealthState.NEEDS_CONNECT}


@pytest.mark.parametrize("kind", ["personal", "shared"])
async def test_every_surface_tells_every_state_alike(app: DoctorApp, kind: str) -> None:
    for name, told in TABLE.items():
        case = await app.case("google")
        await (paste_key(case) if told.key else case.connect())
        if kind == "shared":
            (role,) = await app.rows("SELECT id FROM core.roles WHERE name = $1", case.person.email)
            for statement in SHARE:
                await app.execute(statement, case.tenant.id, role["id"])
        await bring_about(case, told)
        await check_surfaces(case, told, kind, name)


async def paste_key(case: Case) -> None:
    """Store a key in the place where a connect page does."""
    zone = case.app.identity.zone
    store = CredentialStore(zone.database, zone.vault, clock=zone.clock)
    owner = await store.resolve_owner(case.tenant.id, email=case.person.email)
    await store.put(ACTOR, case.tenant.id, case.module, owner, Secret(KEY), "ada")
    case.vendor.keys.add(KEY)


async def bring_about(case: Case, told: Told) -> None:
    moved = {"base_url": "https://elsewhere.test"}
    for statement in told.set_up:
        if statement == MOVED:
            await set_settings(case.app.identity.product.console, ACTOR, case.tenant.id, case.module, lambda _: moved)
        else:
            await case.app.execute(statement, case.tenant.id)


async def check_surfaces(case: Case, told: Told, kind: str, name: str) -> None:
    responsible = "administrator" if told.responsible == "owner" and kind == "shared" else told.responsible
    one = await case.standing()
    assert (one["state"], one["cause"], one["responsible"], one["kind"]) == (
        told.state,
        told.cause,
        responsible,
        kind,
    ), name
    assert one["message"] == (describe_cause(told.cause, told.state) if told.cause else ""), name
    (stored,) = (await case.asked("/credentials"))["items"]
    assert (stored["state"], stored["cause"], stored["kind"]) == (told.state, told.cause, kind), name
    assert told.doctor in await case.told(), name
    assert one["message"] in await case.told(), name
    await check_schema(case, told, kind)
    await check_lease(case, told, kind, name)
    await check_call(case, told, name)
    await check_pages(case, told, kind, name)
    await check_notices(case, told, name)
    if kind == "personal" and (not told.key or told.cause == ORIGIN_CHANGED):  # of another key, its vendor is asked
        await check_test(case, told, str(one["credential_id"]), name)


async def check_test(case: Case, told: Told, credential_id: str, name: str) -> None:
    """`mcpist credential test` says broken where everything else does."""
    async with case.browser() as browser:
        url = f"{case.app.identity.url}/api/v1/credentials/{credential_id}/test"
        answer = await browser.http.post(url, headers={"Origin": case.app.identity.url})
    broken = told.state in (HealthState.NEEDS_RECONNECT, HealthState.DISABLED)
    assert (answer.json()["works"], answer.json()["state"]) == (not broken, "broken" if broken else "connected"), name
    assert not broken or describe_cause(told.cause, told.state) in answer.json()["message"], name


async def check_notices(case: Case, told: Told, name: str) -> None:
    database = case.app.identity.zone.database
    rows = await case.app.rows("SELECT id FROM vault.notices WHERE tenant_id = $1", case.tenant.id)
    async with database.tenant(case.tenant.id) as work:
        notices = [await read_notification(work, row["id"]) for row in rows]
    assert [one.cause for one in notices if one and not one.is_resolved] == [told.cause] * told.notice, name
    for notice in notices or ([build_notice(case, told)] if told.responsible else []):
        assert notice is not None
        body = render_notification(notice, "Shop", "https://m.test").body
        assert describe_cause(told.cause, told.state) in body, name
        assert find_cause(get_catalogue_word(told.cause, told.state)).ja in body, name


async def check_call(case: Case, told: Told, name: str) -> None:
    """What a client is told carries the catalogue's words for the model, or the general ones."""
    heard = await case.call()
    assert heard.failed == bool(told.lease), (name, heard)
    if told.lease:
        cause = find_cause(told.lease)
        start = (cause.model or OTHER.model).format(title="Shop google", whose="", mend="", url="").split("  ")[0]
        assert start.split(";")[0].strip().lower()[:20] in heard.text.lower(), (name, heard)


async def check_schema(case: Case, told: Told, kind: str) -> None:
    state, cause = told.schema
    state = "shared" if kind == "shared" and state == "connected" else state

    async def is_told() -> bool:
        schema = await case.schema()
        return (schema["connection"], schema.get("cause", "")) == (state, cause)

    await within(3, is_told)


async def check_lease(case: Case, told: Told, kind: str, name: str) -> None:
    answer = await case.app.identity.zone.broker.lease(LeaseRequest(Secret(case.person.token), case.module, "look"))
    if told.lease:
        assert isinstance(answer, NoCredential), (name, answer)
        assert (answer.kind, answer.cause) == (kind, told.lease), name
    else:
        assert isinstance(answer, Lease), (name, answer)


async def check_pages(case: Case, told: Told, kind: str, name: str) -> None:
    progress = await start_session(case)
    if kind == "shared":  # a session of one's own connects one's own
        assert progress["state"] == "waiting", name
        listed = await case.page("/connect")
        assert ("no longer works" in listed) == (told.progress[0] == "waiting"), (name, listed)
        return
    assert (progress["state"], progress["cause"]) == told.progress, name
    assert told.page in await case.page(), (name, await case.page())


async def start_session(case: Case) -> dict[str, Any]:
    async with case.browser() as browser:
        url = f"{case.app.identity.url}/api/v1/connect-sessions"
        answer: httpx2.Response = await browser.http.post(
            url, json={"services": [case.module]}, headers={"Origin": case.app.identity.url}
        )
        assert answer.status_code == 201, shown(answer)
        return answer.json()["services"][0]


def build_notice(case: Case, told: Told) -> UserNotification:
    now = datetime.now(UTC)
    return UserNotification(
        case.tenant.id, uuid4(), case.tenant.name, "account", case.module, case.module, "", told.cause, None, False,
        None, now, 0, (), (), (),
    )  # fmt: skip
