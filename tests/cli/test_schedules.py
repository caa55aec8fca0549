"""`mcpist schedule`: made by a person at a server, seen by the operator without contents."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_at_a_server import ADMIN, HERE, Both, both

__all__ = ["both"]

CALL = ("knowledge_graph", "search", "--params", '{"query": "椅子"}', "--title", "毎朝")


def _create(both: Both, *arguments: str) -> dict[str, Any]:
    return both.at_the_server("schedule", "create", *arguments).json()


def test_a_schedule_from_its_making_to_its_end(both: Both) -> None:
    made = _create(both, *CALL, "--cron", "30 9 * * MON-FRI", "--time-zone", "Asia/Tokyo")
    assert (made["title"], made["state"], made["user_email"]) == ("毎朝", "waiting_for_consent", ADMIN)
    assert made["consent_url"] == f"{both.url}/account#mandates"
    schedule_id = made["id"]
    assert both.at_the_server("schedule", "show", schedule_id).json() == made
    shown = both.there.run("schedule", "show", schedule_id, MCPIST_SERVER=both.url).out
    for text in ("毎朝", "knowledge_graph.search", "30 9 * * MON-FRI (Asia/Tokyo)", made["consent_url"]):
        assert text in shown
    assert [one["id"] for one in both.at_the_server("schedule", "list", "--state", "active").json()] == []
    (own,) = both.at_the_server("schedule", "list").json()
    (seen,) = both.locally("schedule", "list").json()
    assert (own["title"], seen["title"], seen["id"], seen["consent_url"]) == ("毎朝", "", schedule_id, None)
    assert "30 9 * * MON-FRI" in both.here.run("schedule", "list", *HERE).out
    changed = both.at_the_server(
        "schedule", "update", schedule_id, "--title", "毎晩", "--every", "600", "--notify", "always"
    )
    assert [changed.json()[name] for name in ("title", "cron", "every_seconds", "notify")] == [
        "毎晩",
        "",
        600,
        "always",
    ]
    for arguments, code in (((), 2), (("--cron", "bad"), 2)):
        assert both.at_the_server("schedule", "update", schedule_id, *arguments).code == code
    assert both.here.run("schedule", "update", schedule_id, "--title", "x", "--json").code != 0
    assert both.locally("schedule", "pause", schedule_id).json()["next_run_at"] is None
    assert both.at_the_server("schedule", "resume", schedule_id).json()["next_run_at"] is not None
    early = both.at_the_server("schedule", "run", schedule_id)
    assert (early.code, "consent" in early.err) == (5, True)
    assert both.at_the_server("schedule", "delete", schedule_id).json() == {"id": schedule_id, "deleted": True}
    gone = both.locally("schedule", "delete", schedule_id)
    assert (gone.code, "mcpist schedule list" in gone.err) == (4, True)


def test_a_batch_of_a_file_and_a_key(both: Both, tmp_path: Path) -> None:
    file = tmp_path / "steps.json"
    step = {"id": "a", "module": "knowledge_graph", "tool_name": "search", "params": {"query": "Ada"}}
    file.write_text(json.dumps([step]))
    arguments = ("--batch", f"@{file}", "--title", "nightly", "--every", "3600", "--idempotency-key", "one")
    made = _create(both, *arguments)
    assert (made["kind"], made["module"], made["every_seconds"]) == ("batch", "", 3600)
    assert _create(both, *arguments) == made
    other = both.at_the_server("schedule", "create", *arguments, "--overlap", "wait")
    assert (other.code, "idempotency key" in other.err) == (5, True)
    assert both.at_the_server("schedule", "delete", made["id"]).code == 0


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((*CALL, "--cron", "bad"), "five fields"),
        (CALL, "exactly one"),
        ((*CALL, "--every", "60", "--params", "[]"), "--params is an object"),
        (("--title", "x", "--every", "60"), "module and tool_name"),
        (("--title", "x", "--every", "60", "--batch", "{}"), "--batch is an array"),
        (("knowledge_graph", "no_such_tool", "--title", "x", "--every", "60"), "tool"),
    ],
)
def test_what_cannot_be_made_is_told(both: Both, arguments: tuple[str, ...], text: str) -> None:
    refused = both.at_the_server("schedule", "create", *arguments)
    assert (refused.code, text in refused.err) == (2, True), refused.err


def test_the_operator_makes_none(both: Both) -> None:
    refused = both.here.run("schedule", "create", *CALL, "--every", "60", "--json")
    assert refused.code != 0
    assert "sign" in refused.err
