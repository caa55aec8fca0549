"""Every state of a connection, brought about at the vendor, and where people see it: the admin API, their connect page,
get_module_schema, the call itself and `mcpist doctor`."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from broker.providers import error_reasons
from tests.broker.doctor.doctor_app import SCOPE, Case, DoctorApp, doctor_app_on
from tests.support.eventually import within
from tests.support.postgres import ScratchDatabase
from tests.support.vendor_tokens.state import Fault
from tests.support.vendor_tokens.styles import microsoft_refusal


@pytest.fixture
async def app(request: pytest.FixtureRequest, database: ScratchDatabase, tmp_path: Path) -> AsyncIterator[DoctorApp]:
    async with doctor_app_on(database, tmp_path, *getattr(request, "param", ("google",))) as made:
        yield made


async def revoked(case: Case) -> None:
    for grant in case.vendor.state.grants:
        grant.dead = True
    await case.run_out()
    await case.call()


async def lost(case: Case) -> None:
    """The vendor has rotated, and nobody has its answer."""
    case.vendor.faults.append(Fault("hang_up_after"))
    await case.run_out()
    await case.call()
    await case.app.later(400)
    await case.call()


async def disabled(case: Case) -> None:
    case.vendor.overrides["dead"] = microsoft_refusal("invalid_grant", 50057)
    await revoked(case)


async def granted_less(case: Case) -> None:
    case.vendor.state.grants[0].scopes.remove(SCOPE)
    await case.run_out()
    await case.call()


async def other_secret(case: Case) -> None:
    case.vendor.secret = "cs-0001-another-one"
    await case.run_out()
    await case.call()


async def away(case: Case) -> None:
    case.vendor.faults.append(Fault("status", 503, {"Retry-After": "90"}))
    await case.run_out()
    await case.call()


async def nothing(case: Case) -> None:
    await case.call()


@dataclass(frozen=True, slots=True)
class Seen:
    """What the places say. `why` is the cause that get_module_schema names."""

    style: str
    does: Callable[[Case], Awaitable[None]]
    state: str
    cause: str
    who: str
    mark: str
    why: str
    page: str
    call: str
    doctor: str


STATES = {
    "connected": Seen("google", nothing, "connected", "", "", "connected", "", "Connected as", "tea", "is connected"),
    "revoked": Seen(
        "google", revoked, "needs_reconnect", "revoked", "owner", "broken", "revoked",
        "access was taken back there", "expired or was revoked there. Connect it again at", "or used up elsewhere; its",
    ),
    "lost rotation": Seen(
        "github", lost, "needs_reconnect", "lost_rotation", "owner", "broken", "lost_rotation",
        "The vendor's answer was lost", "was lost on its way, and with it", "not given twice; its owner",
    ),
    "scope too small": Seen(
        "google", granted_less, "needs_reconnect", "scope", "owner", "broken", "scope",
        "did not grant all that was asked for", "granted less for your account than is needed", "does not cover what",
    ),
    "account disabled": Seen(
        "microsoft", disabled, "needs_reconnect", "account_disabled", "owner", "broken", "account_disabled",
        "The account is disabled at the vendor", "says that your account is disabled", "is disabled at the vendor; its",
    ),
    "service misconfigured": Seen(
        "google", other_secret, "service_misconfigured", "client_refused", "administrator", "broken", "misconfigured",
        "tell your administrator", "an administrator has to look at it", "an administrator looks at it: mcpist oauth",
    ),
    "vendor down": Seen(
        "google", away, "vendor_down", "unavailable", "", "connected", "",
        "MCPist tries again by itself", "asks to wait; try again in", "waits, the vendor is not available for now;",
    ),
}  # fmt: skip


@pytest.mark.reuse("nothing is left to lose: the rule of recovery shows the token once more")
@pytest.mark.parametrize("app", [("google", "github", "microsoft")], indirect=True)
@pytest.mark.parametrize("state", STATES)
async def test_every_state_is_seen_everywhere(app: DoctorApp, state: str) -> None:
    seen = STATES[state]
    case = await app.case(seen.style)
    await case.connect()
    await seen.does(case)
    shown = await case.standing()
    assert (shown["state"], shown["cause"], shown["responsible"]) == (seen.state, seen.cause, seen.who)
    assert bool(shown["message"]) == (seen.state != "connected")
    boss = await app.administrator(case.tenant)
    counts = (await case.asked("/connections/counts", person=boss))["counts"]
    assert counts == [{"module": case.module, "state": seen.state, "count": 1}]
    to = "/connect" if seen.who == "administrator" else f"/connect/{case.module}"
    assert shown["action_url"] == app.identity.url + to
    assert (shown["next_retry_at"] is not None) == (seen.state in ("vendor_down", "service_misconfigured"))

    async def marked() -> bool:
        schema = await case.schema()
        return (schema["connection"], schema.get("cause", "")) == (seen.mark, seen.why)

    await within(2, marked)
    assert seen.page in await case.page()
    assert seen.call in (await case.call()).text
    assert seen.doctor in await case.told()


async def test_what_is_not_connected_is_shown_and_so_is_what_is_shared(app: DoctorApp) -> None:
    case = await app.case("google")
    none = await case.standing()
    assert (none["credential_id"], none["state"], none["responsible"]) == (None, "needs_connect", "owner")
    assert none["action_url"] == f"{app.identity.url}/connect/{case.module}"
    assert (await case.schema())["connection"] == "needs_connect"
    assert "Not connected" in await case.page("/connect")
    assert f"no account is connected yet for {case.title}; connect one at {app.identity.url}/connect" in "\n".join(
        await case.doctor()
    )
    boss = await app.administrator(case.tenant)
    (role,) = await app.rows("SELECT id FROM core.roles WHERE name = $1", case.person.email)
    async with case.browser(boss) as browser:
        url = await browser.start(case.module, case.provider, role=str(role["id"]))
        await browser.get(case.vendor.state.agree(url))
    assert (await case.standing())["kind"] == "shared"

    async def marked() -> bool:
        return (await case.schema())["connection"] == "shared"

    await within(2, marked)
    await revoked(case)
    shared = await case.standing()
    assert (shared["state"], shared["responsible"]) == ("needs_reconnect", "administrator")
    assert "?role=" in shared["action_url"], "whoever follows it must not connect an account of their own"
    assert "an administrator connects it again" in await case.told()
    assert "no longer works" in await case.page("/connect")


async def test_while_it_is_renewed_it_says_so_everywhere(app: DoctorApp) -> None:
    case = await app.case("google")
    await case.connect()
    case.vendor.faults.append(Fault("stall_after"))
    await case.run_out()
    calling = asyncio.create_task(case.call())

    async def renewing() -> bool:
        return (await case.standing())["state"] == "refreshing"

    await within(5, renewing)
    assert "The access is being renewed" in await case.page()
    assert "The access is being renewed" in await case.page("/connect")
    assert "is being renewed" in await case.told()
    assert (await case.schema())["connection"] == "connected"
    case.vendor.stalled.set()
    await calling


async def test_an_administrator_is_told_what_to_mend_and_mending_it_is_enough(app: DoctorApp) -> None:
    case = await app.case("google")
    boss = await app.administrator(case.tenant)
    await case.connect()
    await other_secret(case)
    page = await case.page("/connect", person=boss)
    assert f"{case.provider} refuses the OAuth client" in page
    assert "or the secret is wrong" in page
    assert f"mcpist oauth-client set {case.provider}" in page
    assert f"{app.identity.url}/connect/callback/{case.provider}" in page
    assert "refuses the OAuth client" not in await case.page("/connect")
    case.vendor.secret = case.vendor.secret[::-1]
    await app.mend(case.tenant, case.vendor)
    assert "tea" in (await case.call()).text
    assert (await case.standing())["state"] == "connected"
    assert "refuses the OAuth client" not in await case.page("/connect", person=boss)


async def test_what_passes_by_itself_is_over_when_it_has_passed(app: DoctorApp) -> None:
    case = await app.case("google")
    await case.connect()
    await away(case)
    assert (await case.standing())["state"] == "vendor_down"
    await app.later(91)
    assert (await case.standing())["state"] == "vendor_down", "nobody has asked again yet"
    assert "tea" in (await case.call()).text
    assert (await case.standing())["state"] == "connected"


async def test_a_vendor_that_loses_answers_again_and_again_is_down(app: DoctorApp) -> None:
    case = await app.case("google")
    await case.connect()
    await case.run_out()
    states = []
    for _ in range(4):
        case.vendor.faults.append(Fault("hang_up_after"))
        await case.call()
        shown = await case.standing()
        states.append(shown["state"])
        assert shown["cause"] == error_reasons.CUT_OFF
        await app.later(400)
    assert states == ["refreshing", "refreshing", "vendor_down", "vendor_down"]


async def test_the_history_has_the_exchange_and_no_secret(app: DoctorApp) -> None:
    case = await app.case("google")
    await case.connect()
    await case.run_out()
    await case.call()
    await away(case)
    await app.later(91)
    await revoked(case)
    events = await case.history()
    assert [one["kind"] for one in events] == ["needs_reauth", "failed", "failed", "refreshed", "connected"]
    assert (events[3]["exchange"]["status"], events[3]["exchange"]["grant"]) == (200, "refresh_token")
    exchange = events[1]["exchange"]
    assert (exchange["status"], exchange["reason"], exchange["vendor_error"]) == (400, "revoked", "invalid_grant")
    assert (exchange["grant"], exchange["path"]) == ("refresh_token", "/token")
    text = json.dumps(events)
    state = case.vendor.state
    secrets = [*state.presented, *(token for grant in state.grants for token in (grant.refresh, *grant.access))]
    assert len(secrets) >= 3
    assert not [secret for secret in (*secrets, case.vendor.secret) if secret and secret in text]
