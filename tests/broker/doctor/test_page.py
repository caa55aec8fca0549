"""docs/dev/failures.md lists every failure that is played back, as it is classified; docs/doctor.md every state."""

import re
from pathlib import Path

from broker.connections.connection_status import HealthState
from tests.broker.doctor import test_connecting_again
from tests.broker.doctor.test_replay import STATES, WHO
from tests.support.vendor_tokens.failures import FAILURES

ROOT = Path(__file__).parents[3]
PAGE = "".join((ROOT / "docs" / name).read_text("utf-8") for name in ("doctor.md", "dev/failures.md"))


def rows() -> dict[str, list[str]]:
    """The cells of every row of a table, by its first one."""
    lines = [line for line in PAGE.splitlines() if line.startswith("| ")]
    return {cells[0]: cells[1:] for line in lines if (cells := [cell.strip() for cell in line.strip("|").split("|")])}


def test_every_failure_is_told_of_as_it_is_classified() -> None:
    found = rows()
    for failure in FAILURES:
        source, story, shown, who = found[failure.id]
        assert (source, story) == (failure.source, failure.story)
        state = STATES.get(failure.state, failure.state)
        assert shown == f"`{state}`" + (f" · `{failure.reason}`" if failure.reason else "")
        assert who == (WHO.get(failure.state) or "nobody")
    told = {name for name in found if re.fullmatch(r"(story )?2[AG]-\d+[a-z]?", name)}
    stories = {name.split("_")[2] for name in vars(test_connecting_again) if name.startswith("test_2g_")}
    assert told == {failure.id for failure in FAILURES} | {f"story 2G-{number}" for number in stories}
    assert f"{len(FAILURES)} of {len(FAILURES)} right" in PAGE


def test_every_state_is_told_of_and_the_tests_that_are_named_are_there() -> None:
    assert {f"`{state}`" for state in HealthState} <= rows().keys()
    for name in re.findall(r"`((?:tests/\S+/)?test_\w+\.py)`", PAGE):
        assert list(ROOT.glob(name if "/" in name else f"tests/**/{name}")), name
