"""PM: a typical tool of each module beside GitHub's trivial one, whose vendor answers with as many bytes.

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
from tests.modules.answer_scenes import SCENES
from tests.support.vendor_contract import DESCRIPTIONS

# One that asks its vendor once.
TOOLS = {
    "notion": "get_page", "jira": "get_issue", "confluence": "list_pages", "supabase": "list_branches",
    "google_calendar": "get_event", "microsoft_todo": "get_task", "github": "get_issue",
}  # fmt: skip
CONNECTIONS = 16


@dataclass(frozen=True)
class Recording:
    """A call, the size of what the vendor answers to it, and a part of our answer."""

    module: str
    params: dict[str, Any]
    size: int
    expect: str


def measure(lab: Lab) -> list[Result]:
    """Each module's tool and GitHub's in turns, a pair at a time."""
    if not DESCRIPTIONS.exists():
        lab.progress("PM left out: the vendors' API descriptions are missing")
        return []
    answers = {"GET /user": '{"login": "bench"}'}  # asked when GitHub's credential is stored
    recordings = [asyncio.run(_record(module, answers)) for module in TOOLS]
    path = lab.folder / "answers.json"
    path.write_text(json.dumps(answers))
    product = _start(lab, path)
    results: list[Result] = []
    many = CONNECTIONS if CONNECTIONS in lab.options.connections else max(lab.options.connections)
    for one in recordings:
        tool = TOOLS[one.module]
        release = {"owner": "bench", "repo": str(one.size)}
        targets = [
            lab.of_product(
                f"{one.module}.{tool}", _ask(lab, product.token, one.module, tool, one.params, one.expect), product
            ),
            lab.of_product(
                f"github, {one.size} bytes",
                _ask(lab, product.token, "github", "get_latest_release", release, f"v{one.size}"),
                product,
            ),
        ]
        rounds = interleaved(targets, (many,), lab.options, lab.progress)
        what = f"{one.module}.{tool}, vendor's answer {one.size / 1000:.1f} kB, {many} connections"
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
    others = [module for module in TOOLS if module != "github"]
    for module in others:
        enable_service(product.home, vendor.port, module)
    connect_administrator(product, others)
    return product


def _ask(lab: Lab, token: str, module: str, tool: str, params: dict[str, Any], expect: str) -> Any:
    body = tools_call("call", {"module": module, "tool_name": tool, "params": params})
    return lab.request(body, expect, token)


async def _record(module: str, answers: dict[str, str]) -> Recording:
    """Call the tool in front of the double, and keep what was answered by where it was asked."""
    async with SCENES[module]() as scene:
        params = scene.calls[TOOLS[module]]
        answer = await scene.caller.call(TOOLS[module], **params)
        answers |= {where: body.decode() for where, body in scene.vendor.answers.items()}
        text = json.dumps(answer, ensure_ascii=False, separators=(",", ":"))
        return Recording(module, params, len(scene.vendor.bodies[0]), text[-12:-4])
