"""`mcpist up` with the module that the scenarios expect, installed as a package of its own for this process alone."""

import asyncio
import contextlib
import json
import os
import shutil
import signal
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path

import aiohttp
from conformance_fixture import MODULE
from conformance_fixture.changes import ACCESS_VARIABLE

from core.module_manifest import MANIFEST_FILE, encode_module_manifest
from gateway.module_manifests import build_module_manifest
from tests.support.running_product import (
    MCPIST,
    START_SECONDS,
    command,
    data_folder,
    environment,
    free_port,
    log_of,
    read_ready,
)

PACKAGE = "conformance_fixture"
_METADATA = f"Metadata-Version: 2.1\nName: {PACKAGE}\nVersion: 1.0\n"


@dataclass(frozen=True, slots=True)
class ConformanceDeployment:
    """The running product; `mcp_url` shows the module's tools in plain view. Its form is that of the path: some of the
    tool's requests drop the query of a URL."""

    home: Path
    port: int
    mcp_url: str
    token: str

    async def list_outcomes(self) -> set[tuple[str, str]]:
        """What of the module ran, by the audit log: names and how they ended."""
        outcomes: set[tuple[str, str]] = set()
        more = ["--cursor", ""]
        while more[-1] is not None:
            options = ["--module", MODULE.name, "--kind", "call", "--limit", "500", *(more if more[-1] else [])]
            page = await command(self.home, self.port, "audit", *options)
            outcomes |= {(one["tool"], one["outcome"]) for one in page["items"]}
            more = ["--cursor", page["next_cursor"]]
        return outcomes


def install_module(site: Path) -> None:
    """Leave behind what an installer would: the package with its manifest, and its metadata."""
    package = site / PACKAGE
    shutil.copytree(Path(__file__).with_name(PACKAGE), package, ignore=shutil.ignore_patterns("__pycache__"))
    (package / MANIFEST_FILE).write_bytes(encode_module_manifest(build_module_manifest(MODULE)))
    metadata = site / f"{PACKAGE}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(_METADATA)
    (metadata / "entry_points.txt").write_text(f"[mcpist.modules]\n{MODULE.name} = {PACKAGE}:MODULE\n")


@contextlib.asynccontextmanager
async def running_conformance_deployment(site: Path) -> AsyncGenerator[ConformanceDeployment]:
    """`mcpist up` with the module in `site`, until the block is left."""
    install_module(site)
    with data_folder() as home:
        port = free_port()
        access = site.with_name("access.json")
        variables = {"PYTHONPATH": str(site), ACCESS_VARIABLE: str(access)}
        # Not forked: the process has imported no other package's module.
        log = log_of(home)
        server = await asyncio.create_subprocess_exec(
            MCPIST, "up", "--json", env=environment(home, port, **variables), stdout=asyncio.subprocess.PIPE, stderr=log
        )
        os.close(log)
        assert server.stdout is not None
        try:
            ready = read_ready(await server.stdout.readline())
            scopes = ("--scope", "admin:read", "--scope", "admin:write")
            admin = (await command(home, port, "token", "create", "--name", "changes", *scopes))["token"]
            permissions_url = await _permit_module_alone(ready["mcp_url"].removesuffix("mcp") + "api/v1/", admin)
            access.write_text(json.dumps({"permissions_url": permissions_url, "token": admin}))
            await command(home, port, "service", "enable", MODULE.name, **variables)
            yield ConformanceDeployment(home, port, f"{ready['mcp_url']}/plain/{MODULE.name}", ready["api_token"])
        finally:
            with contextlib.suppress(ProcessLookupError):  # it has not started
                server.send_signal(signal.SIGTERM)
            async with asyncio.timeout(START_SECONDS):
                await server.wait()


async def _permit_module_alone(api_url: str, token: str) -> str:
    """Give the person's role the module alone, whose resources the scenarios take for all that there are; where the
    permissions of that role are."""
    headers = {"Authorization": f"Bearer {token}"}
    async with aiohttp.ClientSession(headers=headers, raise_for_status=True) as client:
        async with client.get(f"{api_url}roles") as answer:
            role = next(one for one in (await answer.json())["items"] if "*" in one["allow"])
        url = f"{api_url}roles/{role['id']}/permissions"
        async with client.put(url, json={"allow": [f"{MODULE.name}.*"], "deny": []}):
            return url
