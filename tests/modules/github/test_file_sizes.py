"""Files of no bytes and of a gigabyte, through `/mcp`: told, or done, and never held."""

import pytest

from modules.github.release_assets import FIRST_BYTES, MAX_BASE64, MAX_TEXT
from tests.modules.github.conftest import Hub, named
from tests.support.github_double import Repository
from tests.support.github_double.file_store import LargeFile
from tests.support.github_double.parts import Asset
from tests.support.github_double.world import Release

pytestmark = pytest.mark.asyncio(loop_scope="package")
GIGABYTE = 10**9
MOST_IN_BUFFERS = 2**24


def add_file(home: Repository, content: bytes | LargeFile) -> None:
    home.releases = [Release("v1", "One", None, home.created, id=9)]
    home.releases[0].assets.append(Asset(1, "dump.sql", content, "text/plain"))


async def test_a_file_of_no_bytes_is_read(hub: Hub, home: Repository) -> None:
    add_file(home, b"")
    found = await hub.call("get_release_asset", **named(home), asset_id=1)
    assert (found["size"], "text" in found, "too_large" in found) == (0, False, False)


@pytest.mark.parametrize("tells_sizes", [True, False])
async def test_a_file_of_a_gigabyte_is_told(hub: Hub, home: Repository, *, tells_sizes: bool) -> None:
    add_file(home, LargeFile(GIGABYTE))
    store = hub.github.store
    store.tells_sizes, store.sent_bytes = tells_sizes, 0
    store.asked.clear()
    found = await hub.call("get_release_asset", **named(home), asset_id=1)
    store.tells_sizes = True
    assert (found["size"], found["too_large"], "text" in found) == (GIGABYTE, True, False)
    assert found["browser_download_url"].endswith("/dump.sql")
    assert sum(store.asked) <= FIRST_BYTES + 1
    assert store.sent_bytes < MOST_IN_BUFFERS, "what the connection's buffers hold"


@pytest.mark.parametrize("given", [{"text": ""}, {"content_base64": ""}, {"content_base64": "\n"}])
async def test_a_file_of_no_bytes_is_not_sent(hub: Hub, home: Repository, given: dict[str, str]) -> None:
    add_file(home, b"x")
    hub.github.seen.clear()
    answer = await hub.product.call("upload_release_asset", **named(home), release_id=9, name="a.txt", **given)
    assert answer.failed
    assert next(iter(given)) in answer.text
    assert hub.github.seen == []


@pytest.mark.parametrize("given", [{"text": "x" * (MAX_TEXT + 1)}, {"content_base64": "x" * (MAX_BASE64 + 4)}])
async def test_a_file_that_is_too_large_is_not_sent(hub: Hub, home: Repository, given: dict[str, str]) -> None:
    add_file(home, b"x")
    hub.github.seen.clear()
    answer = await hub.product.call("upload_release_asset", **named(home), release_id=9, name="a.txt", **given)
    assert answer.failed
    assert next(iter(given)) in answer.text
    assert len(answer.text) < 500
    assert hub.github.seen == []
