"""PM: a typical tool of each module beside GitHub's of the same size: an object by the bytes that its vendor answers
with (`get_issue`, with a longer text), a list by its rows (`list_issues`).

The vendors' answers are recorded from their doubles, filled up with every field that is described
(`tests/modules/answer_scenes.py`), and served by heart. Without the descriptions (`../shared`) the rows are left out.
"""

import asyncio
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.bench.client import tools_call
from tests.bench.github import enable_service
from tests.bench.lab import Lab
from tests.bench.population import connect_administrator
from tests.bench.report import Result, Row
from tests.bench.rounds import compared, cpu, interleaved, rate
from tests.modules.answer_scenes import ROWS, SCENES, SENTENCE
from tests.support.vendor_contract import DESCRIPTIONS

# Tools that ask their vendor once, and the rows of those that list.
TOOLS = {
    "notion": ("get_page", 0), "jira": ("get_issue", 0), "confluence": ("list_pages", ROWS),
    "supabase": ("list_branches", 10), "google_calendar": ("get_event", 0), "microsoft_todo": ("get_task", 0),
}  # fmt: skip
CONNECTIONS = 16


@dataclass(frozen=True)
class Recording:
    """A call, what the vendor answers to it, and a part of our answer."""

    module: str
    tool: str
    params: dict[str, Any]
    body: bytes
    expect: str


def measure(lab: Lab) -> list[Result]:
    """Each module's tool and GitHub's in turns, a pair at a time."""
    if not DESCRIPTIONS.exists():
        lab.progress("PM left out: the vendors' API descriptions are missing")
        return []
    answers = {"GET /user": '{"login": "bench"}'}  # asked when GitHub's credential is stored
    recordings = [asyncio.run(_record(module, tool, answers)) for module, (tool, _) in TOOLS.items()]
    references = [_fit_github(answers, one, TOOLS[one.module][1]) for one in recordings]
    path = lab.folder / "answers.json"
    path.write_text(json.dumps(answers))
    product = _start(lab, path)
    results: list[Result] = []
    many = CONNECTIONS if CONNECTIONS in lab.options.connections else max(lab.options.connections)
    for one, reference in zip(recordings, references, strict=True):
        what = f"{one.module}.{one.tool}"
        targets = [
            lab.of_product(name, _ask(lab, product.token, call), product)
            for name, call in ((what, one), (f"github.{reference.tool} of its size", reference))
        ]
        rounds = interleaved(targets, (many,), lab.options, lab.progress)
        what = f"{what}, vendor's answer {len(one.body) / 1000:.1f} kB, {many} connections"
        results.append(
            Result(
                (
                    Row("PM", f"{what}: req/s relative to GitHub's of that size", "x", compared(rounds, many, rate)),
                    Row("PM", f"{what}: CPU a call, relative", "x", compared(rounds, many, cpu), more_is_better=False),
                ),
                tuple(sample for samples in rounds for sample in samples),
            )
        )
    return results


def _start(lab: Lab, answers: Path) -> Any:
    vendor = lab.reference("recorded", answers=answers)
    product = lab.new_product("modules", vendor)
    for module in TOOLS:
        enable_service(product.home, vendor.port, module)
    connect_administrator(product, list(TOOLS))
    return product


def _ask(lab: Lab, token: str, call: Recording) -> Any:
    body = tools_call("call", {"module": call.module, "tool_name": call.tool, "params": call.params})
    return lab.request(body, call.expect, token)


async def _record(module: str, tool: str, answers: dict[str, str]) -> Recording:
    """Call the tool in front of the double, and keep what was answered by where it was asked."""
    async with SCENES[module]() as scene:
        params = scene.calls[tool]
        answer = await scene.caller.call(tool, **params)
        answers |= {where: body.decode() for where, body in scene.vendor.answers.items()}
        text = json.dumps(answer, ensure_ascii=False, separators=(",", ":"))
        return Recording(module, tool, params, scene.vendor.bodies[-1], text[-12:-4])


def _fit_github(answers: dict[str, str], other: Recording, rows: int) -> Recording:
    """Add an answer of GitHub's as large as another vendor's to `answers`, and return the call that reads it."""
    tool = "list_issues" if rows else "get_issue"
    recorded: Any = json.loads(asyncio.run(_record("github", tool, {})).body)
    params: dict[str, Any] = {"owner": "bench", "repo": other.module}
    if rows:
        answers[f"GET /repos/bench/{other.module}/issues"] = json.dumps(recorded[:rows])
        return Recording("github", tool, params, b"", recorded[rows - 1]["title"])
    missing = len(other.body) - len(json.dumps(recorded, separators=(",", ":")))
    recorded["body"] += (SENTENCE * (1 + max(missing, 0) // len(SENTENCE)))[: max(missing, 0)]
    answers[f"GET /repos/bench/{other.module}/issues/1"] = json.dumps(recorded, separators=(",", ":"))
    return Recording("github", tool, {**params, "issue_number": 1}, b"", recorded["title"])
