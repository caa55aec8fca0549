"""The official conformance suite against the authorization server."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.clients.deployment import ClientsDeployment, signed_in
from tests.support.node import NODE, package_file
from tests.support.running_product import command, free_port

SCENARIOS = {"authorization-server-metadata-endpoint", "authorization-code-grant"}
_URL = re.compile(rb"http://\S+/oauth/authorize\?\S+")


@pytest.mark.usefixtures("node_packages")
async def test_no_check_fails_or_warns(deployment: ClientsDeployment, tmp_path: Path) -> None:
    port = free_port()
    redirect_uri = f"http://127.0.0.1:{port}/callback"
    made = await command(
        deployment.home, deployment.port, "client", "add", "Conformance", "--redirect-uri", redirect_uri
    )
    options = ["--client-id", made["client_id"], "--resource", deployment.mcp_url, "-p", str(port), "-o", "out"]
    script = package_file("@modelcontextprotocol/conformance", "dist/index.js")
    suite = await asyncio.create_subprocess_exec(
        str(NODE), str(script), "authorization", "--url", deployment.issuer, *options,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT, cwd=tmp_path,
    )  # fmt: skip
    try:
        said = await _driven(suite, deployment)
    finally:
        if suite.returncode is None:
            suite.kill()
        await suite.wait()
    assert suite.returncode == 0, said
    checks = list(_checks(tmp_path / "out"))
    assert checks, said
    assert [check for check in checks if check["status"] not in ("SUCCESS", "INFO")] == []


async def _driven(suite: asyncio.subprocess.Process, deployment: ClientsDeployment) -> str:
    """Do what the suite asks a person to do; all that it said."""
    assert suite.stdout is not None
    said = b""
    async with asyncio.timeout(90), signed_in(deployment) as person:
        while line := await suite.stdout.readline():
            said += line
            if found := _URL.search(line):
                await person.browser.get(await person.way_back(found[0].decode()))
        await suite.wait()
    return said.decode(errors="replace")


def _checks(folder: Path) -> list[dict[str, Any]]:
    files = sorted(folder.glob("*/checks.json"))
    ran = {name for name in SCENARIOS for file in files if name in file.parent.name}
    assert ran == SCENARIOS, [file.parent.name for file in files]
    return [check for file in files for check in json.loads(file.read_text(encoding="utf-8"))]
