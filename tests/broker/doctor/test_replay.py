"""What has gone wrong in other gateways, played back through the whole product: connected in a browser, called by an
MCP client, looked at by the doctor. At least 95 % have to be classified right, and none may be silent."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.broker.doctor.doctor_app import Case, Heard, doctor_app_on
from tests.support.postgres import ScratchDatabase
from tests.support.vendor_tokens.failures import FAILURES, PeerFailure

RIGHT = 0.95
BUDGET = 15.0
"""Seconds that a call may take: a vendor gets ten to answer."""

STATES = {"needs_reauth": "needs_reconnect"}
WHO = {"needs_reauth": "owner", "service_misconfigured": "administrator"}
TELLS = {
    "connected": re.compile(r"tea"),
    "needs_reauth": re.compile(r"Connect it again at http://\S+/connect/shop_"),
    "service_misconfigured": re.compile(r"an administrator has to look at it"),
    "vendor_down": re.compile(r"try again in \d+ s"),
    "refreshing": re.compile(r"try again in \d+ s"),
}
DOCTOR = {
    "connected": "is connected",
    "needs_reauth": "its owner connects it again at http",
    "service_misconfigured": "an administrator looks at it: mcpist oauth-client list",
    "vendor_down": "waits",
    "refreshing": "is being renewed",
}


@dataclass(frozen=True, slots=True)
class Played:
    """What became of one failure."""

    failure: PeerFailure
    heard: Heard
    shown: Mapping[str, object]
    doctor: str
    visible: bool

    @property
    def expected(self) -> dict[str, object]:
        state = self.failure.state
        return {
            "state": STATES.get(state, state),
            "cause": self.failure.reason,
            "responsible": WHO.get(state, ""),
            "action_url": "/connect" if state == "service_misconfigured" else f"/connect/{self.shown['module']}",
        }

    @property
    def is_right(self) -> bool:
        got = {name: self.shown[name] for name in self.expected}
        got["action_url"] = "/" + str(got["action_url"]).split("/", 3)[3]
        explained = bool(self.shown["message"]) == (self.failure.state != "connected")
        return got == self.expected and explained and DOCTOR[self.failure.state] in self.doctor

    @property
    def is_silent(self) -> bool:
        """Nothing said of what to do, an empty list, or no answer in time."""
        tells = TELLS[self.failure.state].search(self.heard.text) is not None
        right_end = self.heard.failed == (self.failure.state != "connected")
        return not (tells and right_end and self.visible and self.heard.seconds <= BUDGET)

    def __str__(self) -> str:
        return f"{self.failure.id}: {self.heard}\n  {self.shown}\n  {self.doctor}"


async def played(case: Case, failure: PeerFailure) -> Played:
    """Connect, let it happen when the access token has ended, call, and look."""
    page = await case.connect()
    assert "is connected" in page, page
    assert (await case.standing())["state"] == "connected"
    (grant,) = case.vendor.state.grants
    if failure.spent:
        case.vendor.state.refresh(grant.refresh)
    failure.does(case.vendor)
    await case.run_out()
    heard = await case.call()
    schema = await case.schema()
    return Played(failure, heard, await case.standing(), await case.told(), len(schema["tools"]) == 2)


@pytest.mark.timeout(300)
@pytest.mark.reuse("some failures of others are a spent token that was shown again")
async def test_the_failures_of_others_are_told_apart_and_none_is_silent(
    database: ScratchDatabase, tmp_path: Path
) -> None:
    styles = dict.fromkeys(failure.vendor for failure in FAILURES)
    async with doctor_app_on(database, tmp_path, *styles) as app:
        seen = [await played(await app.case(failure.vendor), failure) for failure in FAILURES]
    silent = [str(one) for one in seen if one.is_silent]
    wrong = [str(one) for one in seen if not one.is_right]
    assert not silent, "\n".join(silent)
    share = 1 - len(wrong) / len(seen)
    assert share >= RIGHT, f"{share:.0%} are classified right; wrong are:\n" + "\n".join(wrong)
