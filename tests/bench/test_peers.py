"""What the comparison with peers stands on, without installing one."""

import sys
from pathlib import Path

import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.bench.peers.install import Missing, Recipe, fitting, installed
from tests.bench.spawn import module, started

HERE = sys.version_info[:2]


async def test_a_client_of_the_official_sdk_calls_the_upstream(tmp_path: Path):
    with started(module("servers.mcp"), tmp_path / "log") as running:
        url = f"http://127.0.0.1:{running.said['port']}/mcp"
        async with Client(streamable_http_client(url), mode="legacy") as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == ["echo"]
            result = await client.call_tool("echo", {"text": "hello"})
    assert result.content[0].text == "hello"  # type: ignore[union-attr]


def test_the_best_python_that_is_there_is_taken(tmp_path: Path):
    shim = tmp_path / "python3.12"
    shim.write_text("#!/bin/sh\necho 'no such version' >&2\nexit 127\n")
    shim.chmod(0o755)
    found = [shim, tmp_path / "missing", Path(sys.executable)]
    assert fitting([(9, 9), HERE], found) == Path(sys.executable)
    assert fitting([(9, 9)], found) is None


def test_a_peer_without_a_python_is_left_out_and_says_so():
    told: list[str] = []
    with pytest.raises(Missing, match=r"nobody is left out: it needs Python 9\.9"):
        installed(Recipe("nobody", ("nothing-at-all",), ((9, 9),)), told.append)
    assert told == []
