"""The built-in model embeds Japanese and English offline, off the event loop, and never fails on a text."""

import asyncio
import base64
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from search.embedding import builtin
from search.embedding.builtin import BATCH_BYTES, BuiltinEmbedder, clean_text, divide_into_batches
from search.embedding.model import Vector, format_vector

GOLDEN = json.loads(Path(__file__).with_name("golden_vectors.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def embedder() -> Iterator[BuiltinEmbedder]:
    made = BuiltinEmbedder()
    yield made
    made.close()


def read_golden(text: str) -> Vector:
    vector = np.frombuffer(base64.b64decode(text), dtype="<f2").astype(np.float32)
    return (vector / np.linalg.norm(vector)).astype(np.float32)


async def test_vectors_are_those_that_collections_have_stored(embedder: BuiltinEmbedder) -> None:
    vectors = await embedder.embed_documents([one["text"] for one in GOLDEN])
    for vector, one in zip(vectors, GOLDEN, strict=True):
        assert float(vector @ read_golden(one["vector"])) >= 0.999, one["text"]
        assert vector.shape == (embedder.model.dimensions,)
        assert vector.dtype == np.float32
        assert float(np.linalg.norm(vector)) == pytest.approx(1, abs=1e-5)


async def test_a_question_finds_its_passage_in_both_languages(embedder: BuiltinEmbedder) -> None:
    passages = await embedder.embed_documents(
        [
            "Restart the server after you change the configuration.",
            "有給休暇は人事部に申請してください。",
            "Lunch is at noon.",
        ]
    )
    questions = {"設定を変えたら何をしますか": 0, "how do I apply for paid leave?": 1, "昼食は何時": 2}
    for question, expected in questions.items():
        vector = await embedder.embed_query(question)
        assert int(np.argmax([vector @ passage for passage in passages])) == expected, question


ODD_TEXTS = {
    "empty": "",
    "blank": " \n",
    "emoji": "😀",
    "null": "\x00",
    "half a character": "\ud800",
    "half a character inside": "a\udfffb",
    "marks": "\u0301" * 5_000,
    "full stops": "。" * 100_000,
    "one word": "x" * 1_000_000,
}


@pytest.mark.parametrize("text", ODD_TEXTS.values(), ids=ODD_TEXTS)
async def test_every_text_gets_a_vector(embedder: BuiltinEmbedder, text: str) -> None:
    vector = await embedder.embed_query(text)
    assert float(np.linalg.norm(vector)) == pytest.approx(1, abs=1e-5)


async def test_no_texts_have_no_vectors(embedder: BuiltinEmbedder) -> None:
    assert list(await embedder.embed_documents([])) == []


async def test_texts_that_look_alike_are_one(embedder: BuiltinEmbedder) -> None:
    one, other = await embedder.embed_documents(["ﾃﾞｰﾀ ベース１", "データ  ベース\u200b1\x07"])
    assert float(one @ other) == pytest.approx(1, abs=1e-5)


def test_a_batch_is_short_and_nothing_is_lost() -> None:
    texts = ["あ" * 400, "a" * 800, "", "b" * 9_000, *(["word " * 100] * 50)]
    batches = list(divide_into_batches(texts))
    assert [text for batch in batches for text in batch] == texts
    assert all(len(batch) == 1 or sum(len(text.encode()) for text in batch) <= BATCH_BYTES for batch in batches)


def test_control_characters_are_no_text() -> None:
    assert clean_text("\ufeffa\x00\tb\u202e  ｃ\ud83d") == "a b c"


async def test_the_weights_are_loaded_once_and_off_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[str] = []

    def load() -> object:
        loaded.append(threading.current_thread().name)
        time.sleep(0.05)
        return lambda texts: np.ones((len(texts), 512), dtype=np.float32)

    monkeypatch.setattr(builtin, "_load_encoder", load)
    made = BuiltinEmbedder(threads=3)
    assert not made.is_loaded
    await asyncio.gather(made.embed_query("a"), made.embed_documents(["b"]), made.embed_documents(["c"]), made.load())
    made.close()
    assert made.is_loaded
    assert len(loaded) == 1
    assert loaded[0] != threading.main_thread().name


async def test_a_question_does_not_wait_for_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    free = threading.Event()

    def encode(texts: list[str]) -> object:
        if texts != ["question"]:
            assert free.wait(30)
        return np.ones((len(texts), 512), dtype=np.float32)

    monkeypatch.setattr(builtin, "_load_encoder", lambda: encode)
    made = BuiltinEmbedder(threads=2)
    indexing = [asyncio.create_task(made.embed_documents(["a" * 3_000, "b" * 3_000])) for _ in range(3)]
    await made.embed_query("question")
    assert not any(task.done() for task in indexing)
    free.set()
    await asyncio.gather(*indexing)
    made.close()


async def test_one_thread_is_enough() -> None:
    made = BuiltinEmbedder(threads=1)
    [vector] = await made.embed_documents(["text"])
    assert float(vector @ await made.embed_query("text")) == pytest.approx(1, abs=1e-5)
    made.close()


def test_the_text_form_of_a_vector_is_pgvectors() -> None:
    written = format_vector(np.asarray([0.25, -0.5, 1e-7, 0], dtype=np.float32))
    assert written == "[0.25,-0.5,1e-7,0.0]"
