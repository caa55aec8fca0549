"""Embedding models of vendors: Voyage, and services that speak OpenAI's protocol.

Voyage: https://docs.voyageai.com/reference/embeddings-api. OpenAI:
https://platform.openai.com/docs/api-reference/embeddings/create.
"""

import asyncio
import math
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import msgspec
import orjson

from core.concurrency.cooperative_steps import wait_for_turn
from core.http.guarded_client import ConnectFailure, GuardedClient
from core.http.single_exchange import ExchangeError, HttpResponse, UnreadableBody
from core.secret import Secret
from search.embedding.model import (
    EmbeddingAnswerUnusable,
    EmbeddingKeyMissing,
    EmbeddingModel,
    EmbeddingRefused,
    Vector,
)

VOYAGE_URL = "https://api.voyageai.com/v1"
OPENAI_URL = "https://api.openai.com/v1"
CONNECT_SECONDS = 5.0
TOTAL_SECONDS = 30.0
"""For one request; a batch may take two."""
MAX_BATCH_TEXTS = 128
"""Voyage takes 128 texts or more by model, OpenAI 2,048."""
MAX_BATCH_CHARS = 100_000
"""Voyage takes 120,000 tokens or more by model, OpenAI 300,000: a Japanese character is one at most, nearly always."""
MAX_BATCH_NUMBERS = 32_768
"""Numbers of an answer: 700 KB of JSON, which are 4 ms of the event loop."""
BYTES_OF_A_NUMBER = 32
MAX_EXTRA_BYTES = 64 * 1024
MAX_RETRY_SECONDS = 10.0
FIRST_RETRY_SECONDS = 1.0

InputType = Literal["document", "query"]
WireProtocol = Literal["voyage", "openai"]
Sleep = Callable[[float], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class EmbeddingService:
    """A vendor's service: `title` for people, `url` without a slash at its end, and whether it wants a key."""

    title: str
    url: str
    protocol: WireProtocol
    wants_key: bool = True

    def describe_input(self, kind: InputType, dimensions: int | None) -> Mapping[str, Any]:
        """Build what the body of a request has beside its texts; `dimensions` where the model is asked for a number."""
        if self.protocol == "voyage":
            return {"input_type": kind} | ({} if dimensions is None else {"output_dimension": dimensions})
        return {"encoding_format": "float"} | ({} if dimensions is None else {"dimensions": dimensions})


class _Item(msgspec.Struct):
    embedding: list[float]
    index: int | None = None


class _Answer(msgspec.Struct):
    data: list[_Item]


_ANSWER = msgspec.json.Decoder(_Answer)


class HttpEmbedder:
    """Embeds by a vendor's service. Implements :class:`search.embedding.model.Embedder`.

    `vendor_model` is the model's name there; `sized`: it is asked for the model's number of dimensions. `http` is
    opened and closed by its owner. For tests: `sleep` between the two attempts.
    """

    def __init__(
        self,
        model: EmbeddingModel,
        service: EmbeddingService,
        key: Secret | None,
        http: GuardedClient,
        *,
        vendor_model: str,
        sized: bool,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self.model = model
        self._size = model.dimensions if sized else None
        self._service = service
        self._key = key
        self._http = http
        self._vendor_model = vendor_model
        self._sleep = sleep

    async def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        """Embed passages, in their order.

        Raises:
            EmbeddingError: see its kinds.
        """
        vectors: list[Vector] = []
        for batch in divide_for_vendor(texts, self.model.dimensions):
            vectors += await self._embed(batch, "document")
        return vectors

    async def embed_query(self, text: str) -> Vector:
        """Embed a question or a few words.

        Raises:
            EmbeddingError: see its kinds.
        """
        [vector] = await self._embed([text], "query")
        return vector

    async def _embed(self, texts: Sequence[str], kind: InputType) -> list[Vector]:
        usable = [text if text.strip() else "-" for text in texts]  # vendors refuse empty ones
        wanted = {"model": self._vendor_model, "input": usable, **self._service.describe_input(kind, self._size)}
        try:
            body = orjson.dumps(wanted)
        except TypeError:  # half a character
            body = orjson.dumps({**wanted, "input": [text.encode(errors="replace").decode() for text in usable]})
        response = await self._post(body, len(texts))
        await wait_for_turn(len(response.body))
        return self._read_vectors(response.body, len(texts))

    async def _post(self, body: bytes, texts: int) -> HttpResponse:
        headers = {"Content-Type": "application/json", **self._authorize()}
        limit = texts * self.model.dimensions * BYTES_OF_A_NUMBER + MAX_EXTRA_BYTES
        response = await self._send(body, headers, limit)
        if response.status == 429 or response.status >= 500:
            wait = _read_retry_after(response)
            if wait <= MAX_RETRY_SECONDS:
                await self._sleep(wait)
                response = await self._send(body, headers, limit)
        if response.status != 200:
            transient = response.status == 429 or response.status >= 500
            raise EmbeddingRefused(
                f"{self._service.title} did not embed the text: it answered with status {response.status}",
                is_transient=transient,
            )
        return response

    def _authorize(self) -> Mapping[str, str]:
        if self._key is not None:
            return {"Authorization": f"Bearer {self._key.reveal()}"}
        if self._service.wants_key:
            raise EmbeddingKeyMissing(f"There is no API key of {self._service.title}: an administrator can add one")
        return {}

    async def _send(self, body: bytes, headers: Mapping[str, str], limit: int) -> HttpResponse:
        url, title = f"{self._service.url}/embeddings", self._service.title
        if not self._http.is_askable(url):
            raise EmbeddingRefused(f"The address of {title} may not be requested from here", is_transient=False)
        try:
            async with asyncio.timeout(TOTAL_SECONDS):
                return await self._http.request(
                    "POST", url, max_bytes=limit, headers=headers, body=body, connect_seconds=CONNECT_SECONDS
                )
        except UnreadableBody:
            raise EmbeddingAnswerUnusable(f"The answer of {title} cannot be read or is too large") from None
        except (ConnectFailure, ExchangeError, OSError):
            raise EmbeddingRefused(f"{title} did not answer", is_transient=True) from None
        except ValueError:  # a key that is no text of a header
            raise EmbeddingRefused(
                f"The API key of {title} has characters that no key has", is_transient=False
            ) from None

    def _read_vectors(self, body: bytes, texts: int) -> list[Vector]:
        import numpy as np

        unusable = EmbeddingAnswerUnusable(
            f"The answer of {self._service.title} has not one usable vector for each text"
        )
        try:
            items = _ANSWER.decode(body).data
            ordered = {
                number if item.index is None else item.index: item.embedding for number, item in enumerate(items)
            }
            if len(items) != texts or sorted(ordered) != list(range(texts)):
                raise unusable
            rows = np.asarray([ordered[number] for number in range(texts)], dtype=np.float32)
        except (msgspec.MsgspecError, ValueError, OverflowError):  # vectors of different lengths are a ValueError
            raise unusable from None
        if rows.shape != (texts, self.model.dimensions):
            raise unusable
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        if not (np.isfinite(lengths).all() and lengths.all()):
            raise unusable
        return list(rows / lengths)


def divide_for_vendor(texts: Sequence[str], dimensions: int) -> Iterator[Sequence[str]]:
    """Divide texts, in their order, into batches that every vendor takes, or of one text."""
    most = max(1, min(MAX_BATCH_TEXTS, MAX_BATCH_NUMBERS // dimensions))
    start = chars = 0
    for number, text in enumerate(texts):
        if number > start and (number - start >= most or chars + len(text) > MAX_BATCH_CHARS):
            yield texts[start:number]
            start, chars = number, 0
        chars += len(text)
    if start < len(texts):
        yield texts[start:]


def _read_retry_after(response: HttpResponse) -> float:
    """Read Retry-After in seconds; a date, which vendors do not send, is as none."""
    told = response.get_header("retry-after")
    seconds = float(told) if re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,6})?", told, re.ASCII) else math.nan
    return FIRST_RETRY_SECONDS if math.isnan(seconds) else seconds
