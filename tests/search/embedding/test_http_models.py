"""Models of vendors: what is asked, what is taken for an answer, and what each failure says."""

import contextlib
import json
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from starlette.requests import Request
from starlette.responses import Response

from core.http.guarded_client import GuardedClient
from core.http.outbound_addresses import AllowedAddresses
from core.secret import Secret
from search.embedding.http_models import divide_for_vendor
from search.embedding.model import (
    Embedder,
    EmbeddingAnswerUnusable,
    EmbeddingError,
    EmbeddingKeyMissing,
    EmbeddingRefused,
)
from search.embedding.registry import EmbedderRegistry, EmbeddingOptions
from tests.support.http_server import served

KEY = "vk-canary-5a1f"
VENDOR_TEXT = "vendor-says-canary"

Answer = Callable[[dict[str, Any]], Response]


def answer_json(document: object, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(json.dumps(document), status, headers, "application/json")


def answer_vectors(asked: dict[str, Any], dimensions: int = 512) -> Response:
    """A vector for each text that its number can be read from, in the reverse order."""
    data = [
        {"object": "embedding", "index": number, "embedding": [float(len(text)), *[1.0] * (dimensions - 1)]}
        for number, text in enumerate(asked["input"])
    ]
    return answer_json({"object": "list", "data": data[::-1], "model": asked["model"], "usage": {"total_tokens": 1}})


@dataclass
class Vendor:
    """A vendor that keeps what it is asked, and answers from a list, the last one for ever."""

    answers: list[Answer] = field(default_factory=lambda: [answer_vectors])
    asked: list[dict[str, Any]] = field(default_factory=list)
    heads: list[dict[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        request = Request(scope, receive)
        self.asked.append(json.loads(await request.body()))
        self.heads.append(dict(request.headers))
        self.paths.append(request.url.path)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        await answer(self.asked[-1])(scope, receive, send)


@contextlib.asynccontextmanager
async def asking(vendor: Vendor, *, allowed: bool = True) -> AsyncGenerator[EmbedderRegistry]:
    async with served(vendor) as (_, port):
        url = f"http://127.0.0.1:{port}/v1"
        http = GuardedClient(AllowedAddresses.from_hosts([f"127.0.0.1:{port}"] if allowed else []), connections=4)
        await http.open()
        registry = EmbedderRegistry(EmbeddingOptions(voyage_url=url, openai_url=url), http)
        try:
            yield registry
        finally:
            registry.close()
            await http.close()


@contextlib.asynccontextmanager
async def voyage(vendor: Vendor, name: str = "voyage-3-lite") -> AsyncGenerator[Embedder]:
    async with asking(vendor) as registry:
        yield registry.get_embedder(name, Secret(KEY))


async def test_voyage_is_told_questions_from_documents() -> None:
    vendor = Vendor()
    async with voyage(vendor) as embedder:
        await embedder.embed_query("query")
        vectors = await embedder.embed_documents(["one", "three"])
    assert vendor.asked == [
        {"model": "voyage-3-lite", "input": ["query"], "input_type": "query"},
        {"model": "voyage-3-lite", "input": ["one", "three"], "input_type": "document"},
    ]
    assert vendor.paths == ["/v1/embeddings"] * 2
    assert vendor.heads[0]["authorization"] == f"Bearer {KEY}"
    assert vendor.heads[0]["content-type"] == "application/json"
    assert vectors[0][0] < vectors[1][0]  # by `index`, not by place
    assert all(float(np.linalg.norm(vector)) == pytest.approx(1, abs=1e-5) for vector in vectors)


@pytest.mark.parametrize(
    ("name", "sent"),
    [
        ("voyage-3.5@256", {"model": "voyage-3.5", "input_type": "query", "output_dimension": 256}),
        ("text-embedding-3-small", {"model": "text-embedding-3-small", "encoding_format": "float"}),
        (
            "text-embedding-3-large@256",
            {"model": "text-embedding-3-large", "encoding_format": "float", "dimensions": 256},
        ),
        ("openai:nomic-embed-text:latest@768", {"model": "nomic-embed-text:latest", "encoding_format": "float"}),
    ],
)
async def test_what_each_model_is_asked(name: str, sent: dict[str, Any]) -> None:
    vendor = Vendor()
    async with asking(vendor) as registry:
        embedder = registry.get_embedder(name, Secret(KEY))
        vendor.answers = [lambda asked: answer_vectors(asked, embedder.model.dimensions)]
        vector = await embedder.embed_query("q")
    assert vendor.asked == [{"input": ["q"], **sent}]
    assert vector.shape == (embedder.model.dimensions,)


async def test_many_texts_go_in_batches_and_come_back_in_order() -> None:
    vendor = Vendor()
    texts = ["x" * (number % 50 + 1) for number in range(150)]
    async with voyage(vendor) as embedder:
        vectors = await embedder.embed_documents(texts)
        assert list(await embedder.embed_documents([])) == []
    assert [len(asked["input"]) for asked in vendor.asked] == [64, 64, 22]
    lengths = [round(float(vector[0] / vector[1])) for vector in vectors]
    assert lengths == [len(text) for text in texts]


def test_a_batch_is_one_that_every_vendor_takes() -> None:
    assert [len(batch) for batch in divide_for_vendor(["a" * 60_000] * 3, 256)] == [1, 1, 1]
    assert [len(batch) for batch in divide_for_vendor(["a"] * 300, 256)] == [128, 128, 44]
    assert [len(batch) for batch in divide_for_vendor(["a"] * 3, 40_000)] == [1, 1, 1]
    assert list(divide_for_vendor([], 512)) == []


async def test_texts_that_a_vendor_would_refuse_are_replaced() -> None:
    vendor = Vendor()
    async with voyage(vendor) as embedder:
        await embedder.embed_documents(["", " \n", "a\ud800b"])
    assert vendor.asked[0]["input"] == ["-", "-", "a?b"]


async def test_a_missing_key_is_an_error_of_its_own_and_nothing_is_sent() -> None:
    vendor = Vendor()
    async with asking(vendor) as registry:
        with pytest.raises(EmbeddingKeyMissing, match="no API key of Voyage"):
            await registry.get_embedder("voyage-3-lite").embed_query("q")
        await registry.get_embedder("openai:free@512").embed_query("q")  # a server of one's own may want none
    assert len(vendor.asked) == 1
    assert "authorization" not in vendor.heads[0]


@pytest.mark.parametrize(
    ("status", "attempts", "transient"), [(401, 1, False), (400, 1, False), (429, 2, True), (503, 2, True)]
)
async def test_a_refusal(status: int, attempts: int, transient: bool) -> None:
    vendor = Vendor([lambda asked: answer_json({"detail": VENDOR_TEXT}, status, {"Retry-After": "0"})])
    async with voyage(vendor) as embedder:
        with pytest.raises(EmbeddingRefused, match=f"status {status}") as caught:
            await embedder.embed_query("text-canary")
    assert len(vendor.asked) == attempts
    assert caught.value.is_transient == transient
    assert_tells_nothing(caught.value)


async def test_a_busy_vendor_is_asked_again_once() -> None:
    vendor = Vendor([lambda asked: answer_json({}, 429, {"Retry-After": "0"}), answer_vectors])
    async with voyage(vendor) as embedder:
        await embedder.embed_query("q")
    assert len(vendor.asked) == 2


@pytest.mark.parametrize(("told", "waits"), [("2", [2.0]), ("0.5", [0.5]), ("soon", [1.0]), ("3600", [])])
async def test_a_vendors_word_on_when_is_kept(told: str, waits: list[float]) -> None:
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    vendor = Vendor([lambda asked: answer_json({}, 429, {"Retry-After": told})])
    async with voyage(vendor) as embedder:
        embedder._sleep = sleep  # type: ignore[attr-defined]
        with pytest.raises(EmbeddingRefused):
            await embedder.embed_query("q")
    assert waited == waits


def vector(*numbers: object) -> list[object]:
    return [*numbers, *[0.5] * (512 - len(numbers))]


UNUSABLE: dict[str, object] = {
    "no data": {},
    "empty": {"data": []},
    "not a list": {"data": VENDOR_TEXT},
    "no vector": {"data": [{"index": 0}]},
    "other dimensions": {"data": [{"index": 0, "embedding": [0.5] * 256}]},
    "text in it": {"data": [{"index": 0, "embedding": vector(VENDOR_TEXT)}]},
    "null in it": {"data": [{"index": 0, "embedding": vector(None)}]},
    "too large a number": {"data": [{"index": 0, "embedding": vector(1e300)}]},
    "zeros": {"data": [{"index": 0, "embedding": [0] * 512}]},
    "other index": {"data": [{"index": 1, "embedding": vector()}]},
    "too many": {"data": [{"index": 0, "embedding": vector()}, {"index": 1, "embedding": vector()}]},
    "one index twice": {"data": [{"index": 0, "embedding": vector()}, {"index": 0, "embedding": vector()}]},
    "a page": "<html>",
}


@pytest.mark.filterwarnings("ignore:overflow encountered")
@pytest.mark.parametrize("document", UNUSABLE.values(), ids=UNUSABLE)
async def test_an_answer_without_usable_vectors(document: object) -> None:
    vendor = Vendor([lambda asked: answer_json(document)])
    async with voyage(vendor) as embedder:
        with pytest.raises(EmbeddingAnswerUnusable) as caught:
            await embedder.embed_query("text-canary")
    assert_tells_nothing(caught.value)


async def test_an_endless_answer_is_not_read() -> None:
    vendor = Vendor([lambda asked: Response(b" " * 1_000_000)])
    async with voyage(vendor) as embedder:
        with pytest.raises(EmbeddingAnswerUnusable):
            await embedder.embed_query("q")


async def test_an_address_that_may_not_be_asked() -> None:
    vendor = Vendor()
    async with asking(vendor, allowed=False) as registry:
        with pytest.raises(EmbeddingRefused) as caught:
            await registry.get_embedder("voyage-3-lite", Secret(KEY)).embed_query("q")
    assert not vendor.asked
    assert not caught.value.is_transient


async def test_a_vendor_that_is_away() -> None:
    async with asking(Vendor()) as registry:
        embedder = registry.get_embedder("voyage-3-lite", Secret(KEY))
        gone = EmbeddingOptions(voyage_url="http://127.0.0.1:1/v1")
        other = EmbedderRegistry(gone, GuardedClient(AllowedAddresses.from_hosts(["127.0.0.1:1"]), connections=1))
        await other.http.open()
        with pytest.raises(EmbeddingRefused, match="did not answer") as caught:
            await other.get_embedder("voyage-3-lite", Secret(KEY)).embed_query("text-canary")
        await other.http.close()
        other.close()
        await embedder.embed_query("q")
    assert caught.value.is_transient
    assert_tells_nothing(caught.value)


async def test_a_key_that_would_end_its_line() -> None:
    vendor = Vendor()
    async with asking(vendor) as registry:
        with pytest.raises(EmbeddingRefused) as caught:
            await registry.get_embedder("voyage-3-lite", Secret(f"{KEY}\r\nX: y")).embed_query("q")
    assert not vendor.asked
    assert_tells_nothing(caught.value)


def assert_tells_nothing(error: EmbeddingError, secrets: Sequence[str] = (KEY, VENDOR_TEXT, "text-canary")) -> None:
    told = f"{error!r} {error.__cause__!r}"
    assert not [secret for secret in secrets if secret in told]
    assert error.__cause__ is None
    assert error.__suppress_context__ or error.__context__ is None
