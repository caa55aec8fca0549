"""Tokens for modules that search tables of their own."""

import functools
import time
from collections.abc import Collection

from modules.kit.search_tokens import (
    MAX_INDEXED_BYTES,
    collect_completion_tokens,
    collect_index_tokens,
    collect_query_tokens,
    collect_title_tokens,
)


@functools.lru_cache(1)
def index(texts: tuple[str, ...]) -> Collection[str]:
    return collect_index_tokens(texts)


def finds(query: str, *texts: str) -> bool:
    tokens = index(texts)
    return all(
        any(token.startswith(one.text) if one.is_prefix else token == one.text for token in tokens)
        for one in collect_query_tokens(query)
    )


def completes(query: str, title: str) -> bool:
    tokens = collect_title_tokens(title)
    return all(
        any(token.startswith(one.text) if one.is_prefix else token == one.text for token in tokens)
        for one in collect_completion_tokens(query)
    )


def test_long_texts_are_found_as_short_ones_are():
    """A text is divided where it is collected; nothing at the cuts is lost."""
    text = "".join(f"語{number}号室の鍵と取り消し" for number in range(3_000))
    assert finds("取消", text)
    for start in range(1_980, 2_020):
        assert finds(text[start : start + 12], text), start
    words = " ".join(f"word{number}" for number in range(20_000))
    assert all(finds(f"word{number}", words) for number in (0, 233, 234, 235, 19_999))
    assert finds("会議 tokens", "Tokens of", "x" * 5_000, "全体会議")


def test_random_characters_stop_at_what_a_vector_holds():
    text = "".join(chr(0x4E00 + (number * 7919) % 20_000) for number in range(300_000))
    began = time.thread_time()
    tokens = collect_index_tokens(["the title", text], prefix_length=20)
    assert "titl" in tokens
    assert sum(len(token.encode()) + 20 for token in tokens) <= MAX_INDEXED_BYTES
    assert time.thread_time() - began < 6


def test_completions():
    assert completes("inst", "How to Install things")
    assert completes("how to install thi", "How to Install things")
    assert completes("installi", "Installing")
    assert not completes("instal thing", "How to Install things")
    assert completes("議", "会議の議事録")
    assert completes("議事録", "会議の議事録テンプレート")
    assert completes("API設", "API設計の方針")
    assert not completes("設計書", "API設計の方針")
    assert collect_completion_tokens(" ?! ") == []
