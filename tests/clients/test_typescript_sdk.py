"""The official TypeScript SDK clients over a real socket: every revision that they speak."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from tests.clients.story import WRONG_TOKEN, Gateway, assert_story, planned_calls
from tests.support.node import run_node

WAYS_OF_V2 = {
    "modern": "2026-07-28",
    "auto": "2026-07-28",
    "handshake": "2025-11-25",
    "2025-06-18": "2025-06-18",
    "2025-03-26": "2025-03-26",
    "2024-11-05": "2024-11-05",
}


@pytest.mark.parametrize(
    ("script", "versions"),
    [("sdk_v1.mjs", {"handshake": "2025-11-25"}), ("sdk_v2.mjs", WAYS_OF_V2)],
    ids=["v1", "v2"],
)
async def test_story(
    gateway: Gateway, node_packages: Path, tmp_path: Path, script: str, versions: dict[str, str]
) -> None:
    entity = f"Ada of {script}"
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps(_plan(gateway, entity)), encoding="utf-8")
    run = await run_node(node_packages / script, str(plan), home=tmp_path)
    assert run.exit_code == 0, run
    stories = run.json()
    assert stories.keys() == versions.keys()
    for way, version in versions.items():
        assert_story(stories[way], entity, version)
        assert stories[way]["refusal"]["status"] == 401, (way, stories[way]["refusal"])


def _plan(gateway: Gateway, entity: str) -> dict[str, Any]:
    calls = [dataclasses.asdict(call) for call in planned_calls(entity)]
    return {"url": gateway.mcp_url, "token": gateway.token, "wrong_token": WRONG_TOKEN, "calls": calls}
