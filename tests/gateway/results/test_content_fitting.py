"""Content blocks over a budget: always within it, nothing cut but long texts, and what is left can be found."""

import base64
import random
from typing import Any

import orjson
import pytest

from gateway.capabilities.content import build_block, parse_block
from gateway.results.content_fitting import IMAGE_TOKENS, MAX_DATA_BYTES, fit_content, get_data_size, is_content_within
from modules.kit import AudioBlock, ContentBlock, ImageBlock, ResourceBlock, ResourceContent, ResourceLink, TextBlock
from tests.gateway.results.test_promise import DESCRIPTION
from tests.support.tokens import tokens

WORDS = ("Falkenberg", "keeps", "the", "second", "key", "月", "課題", "\n")


def make_blocks(source: random.Random) -> list[ContentBlock]:
    def text() -> str:
        return " ".join(source.choices(WORDS, k=source.choice((3, 200, 2_000, 20_000))))

    def data() -> bytes:
        return source.randbytes(source.choice((100, 20_000, 300_000)))

    makers: list[Any] = [
        lambda: TextBlock(text=text()),
        lambda: ImageBlock(data=data(), mime_type="image/png"),
        lambda: AudioBlock(data=data(), mime_type="audio/wav"),
        lambda: ResourceBlock(resource=ResourceContent(uri="shop://a/" + "b" * 500, data=data())),
        lambda: ResourceBlock(resource=ResourceContent(uri="shop://c", mime_type="text/plain", text=text())),
        lambda: ResourceLink(uri="shop://d", name="d", description=text()[:2_000]),
    ]
    return [source.choice(makers)() for _ in range(source.choice((1, 3, 30)))]


def cost(block: dict[str, Any]) -> int:
    if block["type"] == "image":
        return IMAGE_TOKENS
    return tokens(block["text"] if block["type"] == "text" else orjson.dumps(block).decode())


@pytest.mark.parametrize("seed", range(12))
def test_within_budget_whole_and_found(seed: int) -> None:
    source = random.Random(seed)
    blocks = [build_block(block) for block in make_blocks(source)]
    for budget in (200, 2_500, 8_000, 50_000):
        if is_content_within(blocks, budget):
            assert sum(map(cost, blocks)) <= budget
            continue
        head, *shown = fit_content(blocks, budget, DESCRIPTION)
        assert sum(map(cost, (head, *shown))) <= budget
        assert sum(map(get_data_size, shown)) <= MAX_DATA_BYTES
        partial = orjson.loads(head["text"])["partial"]
        assert partial["handle"] == DESCRIPTION["handle"]
        cut = [block for block in shown if block not in blocks]
        for block in cut:
            assert any(one["type"] == "text" and one["text"].startswith(block["text"]) for one in blocks)
        whole = len(shown) - len(cut)
        assert len(partial.get("left", ())) + partial.get("more_left", 0) == len(blocks) - whole or not shown


def test_images_that_do_not_fit_are_described() -> None:
    picture = build_block(ImageBlock(data=b"x" * 200_000, mime_type="image/png"))
    head, first, second = fit_content([picture] * 3, 8_000, DESCRIPTION)
    assert first == second == picture
    left = {"path": "content[2]", "type": "image", "mimeType": "image/png", "bytes": 200_000}
    assert orjson.loads(head["text"])["partial"]["left"] == [left]
    assert not is_content_within([picture], 1_000)


@pytest.mark.parametrize("seed", range(3))
def test_a_block_is_parsed_as_it_was_built(seed: int) -> None:
    for block in make_blocks(random.Random(seed)):
        assert parse_block(build_block(block)) == block
    assert base64.b64decode(build_block(ImageBlock(data=b"\x00\xff", mime_type="x"))["data"]) == b"\x00\xff"
