"""What answers cost a model, beside the vendor's own JSON: full-size answers, with every field that is described.

``UPDATE_SNAPSHOTS=1`` writes the numbers that the modules' pages show (then: ``python -m tools.module_docs``).
"""

import os
from pathlib import Path
from typing import Any

import orjson
import pytest

from gateway.meta_tools.results import build_model_result
from modules.kit.untrusted import UNTRUSTED, UNTRUSTED_FIELD
from tests.modules.answer_scenes import SCENES, SENTENCE, Scene, open_walked_scene
from tests.support.postgres import DatabaseServer
from tests.support.tokens import tokens

FOLDER = Path(__file__).parents[1] / "snapshots" / "answers"
WRITTEN = (SENTENCE.strip(), "議事録 ملاحظات", orjson.dumps("議事録 ملاحظات").decode().strip('"'))
MARK = f'"{UNTRUSTED_FIELD}":"{UNTRUSTED}",'
MOST_MARK = 14
"""Tokens of the mark, of which each answer has one: small answers have 100."""
LARGEST = 1 / 3
LARGER: dict[tuple[str, str], tuple[float, str]] = {
    ("notion", "get_database"): (0.45, "the names and ids of its data sources are what other tools take"),
    ("notion", "list_comments"): (0.45, "a comment, its discussion and its author have ids of 36 characters"),
    ("notion", "get_comment"): (0.55, "four ids of 36 characters stand for a comment and what it belongs to"),
    ("notion", "list_users"): (0.55, "an id, a name and an e-mail address is nearly all that Notion says of a person"),
    ("notion", "get_self"): (0.45, "an id, a name and a type is nearly all that Notion says of a connection"),
    ("confluence", "get_page_children"): (0.45, "Confluence says little more than an id and a title"),
    ("confluence", "list_versions"): (0.75, "the name of its author stands beside each, which Confluence does not say"),
    ("supabase", "get_project"): (0.8, "Supabase's own JSON has 110 tokens, and nothing in it is said twice"),
    ("supabase", "list_organizations"): (0.7, "Supabase says a slug, a name and the slug again"),
    ("supabase", "get_organization"): (0.5, "Supabase's own JSON has 32 tokens"),
    ("supabase", "get_project_health"): (0.85, "a service, its state and its error is what Supabase says, too"),
    ("supabase", "list_tables"): (0.75, "the question to the database is ours, and asks for little more than is shown"),
    ("supabase", "list_extensions"): (0.45, "the question to the database is ours, and asks for little more"),
    ("supabase", "list_migrations"): (1.1, "a version and a name is all that Supabase says; a total is added"),
    ("supabase", "get_logs"): (0.85, "most of a log is its messages, which are whole"),
    ("supabase", "list_storage_buckets"): (0.5, "an id and when it was made is half of what Supabase says of a bucket"),
    ("google_calendar", "query_freebusy"): (0.7, "beginnings and ends with their zones are the answer"),
    ("microsoft_todo", "list_task_lists"): (0.8, "an id of Graph's has 90 tokens, and nothing else that a tool takes "
     "stands for a list; Graph sends little else"),
    ("microsoft_todo", "list_checklist_items"): (0.4, "Graph says little more than an id and a name"),
    ("microsoft_todo", "list_linked_resources"): (0.75, "an id, an address and an application is what Graph says, too"),
    ("github", "list_tags"): (0.5, "a name and the whole SHA of its commit is the answer"),
    ("github", "get_file_contents"): (0.5, "of a small file, its path, SHA and size are most of the answer"),
    ("github", "get_release_asset"): (0.4, "of a small file, its name, type and address are most of the answer"),
    ("github", "list_review_threads"): (0.6, "the question is GraphQL, and asks for little more than is shown"),
}  # fmt: skip
"""Tools of which a typical answer costs more than a third: at most how much of the vendor's, and why."""
TEXTS = {
    ("notion", "get_page_markdown"), ("supabase", "generate_typescript_types"), ("supabase", "get_migration"),
    ("supabase", "execute_sql"), ("github", "get_diff"), ("github", "get_job_logs"),
}  # fmt: skip
"""Tools whose answer is a text or rows as they are."""
MOST_BESIDE_TEXT = 40
"""Tokens more than the text has: other fields, and the mark of texts by strangers."""
COMBINED = {
    ("supabase", "get_edge_function"), ("github", "get_pull_request"), ("github", "get_release_asset"),
}  # fmt: skip
"""Tools that say what stands in several answers of the vendor's."""


def test_the_mark_is_short() -> None:
    assert tokens(MARK) <= MOST_MARK


@pytest.mark.parametrize("name", SCENES)
async def test_a_typical_answer_costs_at_most_a_third_of_the_vendors(
    name: str, database_server: DatabaseServer
) -> None:
    """Of every tool that reads and asks the vendor. What people wrote is not counted: it is the same on both sides."""
    measured: dict[str, dict[str, Any]] = {}
    async with SCENES[name]() as scene:
        for tool in scene.calls:
            measured[tool] = await measure(scene, name, tool)
    async with open_walked_scene(name, database_server) as scene:
        for tool in scene.calls:
            if tool not in measured:
                measured[tool] = await measure(scene, name, tool)
    path = FOLDER / f"{name}.json"
    if os.environ.get("UPDATE_SNAPSHOTS"):
        FOLDER.mkdir(exist_ok=True)
        path.write_bytes(orjson.dumps(measured, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    known: Any = orjson.loads(path.read_bytes())
    assert known.keys() == measured.keys()
    for tool, cost in known.items():
        assert measured[tool] == {
            side: pytest.approx(one, rel=0.05, abs=3) if isinstance(one, int) else one for side, one in cost.items()
        }, f"{tool}: run again with UPDATE_SNAPSHOTS=1"


async def measure(scene: Scene, name: str, tool: str) -> dict[str, Any]:
    """Tokens of a tool's answer, as a model reads it, and of the vendor's largest: beside it are the names of people
    and a count."""
    scene.vendor.bodies.clear()
    result = await scene.caller.run(tool, scene.calls[tool])
    answer = build_model_result(result, short=False, untrusted=True)["content"][0]["text"]
    bodies = scene.vendor.bodies if (name, tool) in COMBINED else [max(scene.vendor.bodies, key=len)]
    raw = b"".join(bodies).decode("utf-8", "replace")
    ours, theirs = count_around(answer), count_around(raw)
    cost: dict[str, Any] = {"tokens": tokens(answer), "vendor_tokens": tokens(raw)}
    if (name, tool) in TEXTS:
        assert ours <= theirs + MOST_BESIDE_TEXT, answer[:800]
        return cost | {"reason": "a text or rows as they are, behind a line of other fields"}
    most, reason = LARGER.get((name, tool), (LARGEST, ""))
    assert ours <= theirs * most, f"{tool}: {ours} of {theirs}\n{answer[:800]}"
    if reason:
        assert ours > theirs * LARGEST, f"{tool} costs no more than a third: it needs no reason"
        cost["reason"] = reason
    return cost


def count_around(text: str) -> int:
    """Tokens of a text without what people wrote, and without the mark that says so."""
    for written in (MARK, *WRITTEN):
        text = text.replace(written, "")
    return tokens(text)
