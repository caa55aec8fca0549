"""The official TypeScript SDK clients with nothing but the URL, in both eras and by every way of becoming known."""

import asyncio
import json
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.clients.deployment import REDIRECT, ClientsDeployment, signed_in
from tests.support.node import NODE
from tests.support.running_product import command

PIN = {"versionNegotiation": {"mode": {"pin": "2026-07-28"}}}
WAYS = [
    ("v1", {}, "dynamic"),
    ("v1", {}, "registered"),
    ("v2", {}, "document"),
    ("v2", PIN, "document"),
    ("v2", PIN, "dynamic"),
    ("v2", PIN, "registered"),
]


@pytest.mark.parametrize(("sdk", "options", "kind"), WAYS)
async def test_a_url_is_enough(
    deployment: ClientsDeployment, node_packages: Path, tmp_path: Path, sdk: str, options: dict[str, Any], kind: str
) -> None:
    plan = {
        "url": deployment.mcp_url,
        "issuer": deployment.issuer,
        "redirect_uri": REDIRECT,
        "sdk": sdk,
        "options": options,
        "name": f"{sdk} {kind} {len(options)}",
        **await _known(deployment, kind),
    }
    file = tmp_path / "plan.json"
    file.write_text(json.dumps(plan))
    told = await _driven(node_packages / "oauth.mjs", file, deployment)
    assert told["tools"] == ["get_module_schema", "call", "batch"]
    assert told["failed"] == [False, False]
    assert told["scopes"][0] == ("mcp:read" if sdk == "v2" else "mcp:read mcp:write")
    assert "mcp:write" in told["scopes"][1].split()
    assert told["rotated"]
    if kind == "document":
        assert told["client_id"] == deployment.host.client_id


async def _known(deployment: ClientsDeployment, kind: str) -> dict[str, str]:
    if kind == "registered":
        made = await command(deployment.home, deployment.port, "client", "add", "By hand", "--redirect-uri", REDIRECT)
        return {"client_id": made["client_id"]}
    return {"metadata_url": deployment.host.client_id} if kind == "document" else {}


async def _driven(script: Path, plan: Path, deployment: ClientsDeployment) -> dict[str, Any]:
    """Be the person and the browser of the program; its last line."""
    program = await asyncio.create_subprocess_exec(
        str(NODE), str(script), str(plan), stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert program.stdin is not None
    assert program.stdout is not None
    assert program.stderr is not None
    try:
        async with asyncio.timeout(90), signed_in(deployment) as person:
            while line := await program.stdout.readline():
                said = json.loads(line)
                if "authorize" not in said:
                    return said
                way_back = await person.way_back(said["authorize"])
                program.stdin.write(urlsplit(way_back).query.encode() + b"\n")
                await program.stdin.drain()
            raise AssertionError((await program.stderr.read()).decode())
    finally:
        if program.returncode is None:
            program.kill()
        await program.communicate()
