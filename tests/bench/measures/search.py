"""SE: searches through 100,000 passages, half of which are one tenant's; and how fast documents are stored."""

import asyncio
import random
import statistics
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any
from uuid import UUID

import asyncpg
import numpy as np

from core.database_url import DatabaseAddress
from core.db import Database
from search.embedding.builtin import BuiltinEmbedder
from search.embedding.model import Embedder, EmbeddingModel, Vector
from search.engine import SearchEngine
from search.records import CollectionCaller, DocumentCondition, DocumentDraft, SearchScope
from server.operator_context import open_operator_context
from server.role_database import GATEWAY_ROLE, open_role_database
from tests.bench.lab import Lab
from tests.bench.product import unlimited
from tests.bench.report import Result, Row

MUST = 30
"""Milliseconds of a search with the embedding of its query, of 95 in 100."""
EMBEDDER_SHARE = 90
"""Per cent of the embedder's own speed that storing documents has."""
SMALL_TENANTS = 50
WORDS = 20_000
MODEL = EmbeddingModel("bench", 512, 0.15, 800, 400)
CENTRES, NOISES = 250, 400
_WORD = "'w' || floor(exp(random() * ln(20000)))::int"
_TENANT = """INSERT INTO core.tenants (tenant_id, slug, name) VALUES ($1, $2, $2)"""
_USER = "INSERT INTO core.users (tenant_id, id, email) VALUES ($1, $2, $3)"
_COLLECTION = """INSERT INTO search.collections
    (tenant_id, module, name, owner, user_id, model, dimensions, documents, chunks)
    VALUES ($1, 'rag', 'bench', 'user', $2, 'bench', 512, $3, $4) RETURNING id, generation"""
CHUNKS_OF_DOCUMENT = 10


class BenchEmbedder:
    """Gives vectors that were made before: the next of `vectors` for each query."""

    model = MODEL

    def __init__(self, vectors: Sequence[Vector]) -> None:
        self._vectors = vectors
        self._next = 0

    async def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        return [await self.embed_query(text) for text in texts]

    async def embed_query(self, text: str) -> Vector:
        self._next += 1
        return self._vectors[self._next % len(self._vectors)]


class OneEmbedder:
    """Implements :class:`search.engine.Embedders` with one model."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    async def get_default_model(self, tenant_id: UUID) -> str:
        return self._embedder.model.name

    async def get_embedder(self, tenant_id: UUID, model: str) -> Embedder:
        return self._embedder


async def fill(admin: DatabaseAddress, passages: int) -> tuple[CollectionCaller, CollectionCaller, list[Vector]]:
    """Store passages of random words with vectors in clusters; return the users of the large tenant and of a small one,
    and vectors to search with."""
    connection: Any = await asyncpg.connect(**admin.connect_args())
    try:
        return await _fill(connection, passages)
    finally:
        await connection.close()


async def _fill(admin: Any, passages: int) -> tuple[CollectionCaller, CollectionCaller, list[Vector]]:
    numbers = np.random.default_rng(7)
    centres = numbers.standard_normal((CENTRES, 512), dtype=np.float32)
    noises = numbers.standard_normal((NOISES, 512), dtype=np.float32)
    await admin.execute("SET synchronous_commit = off")
    await admin.execute("SET session_replication_role = replica")
    await admin.execute("CREATE TEMPORARY TABLE parts (kind int, n int, v halfvec(512))")
    for kind, rows in enumerate((centres, noises)):
        await admin.executemany(
            "INSERT INTO parts VALUES ($1, $2, $3::text::real[])",
            [(kind, n, "{" + ",".join(map(str, row)) + "}") for n, row in enumerate(rows.tolist())],
        )
    await admin.execute("CREATE INDEX ON parts (kind, n)")
    indexes = await admin.fetch(
        "SELECT indexdef FROM pg_indexes WHERE schemaname = 'search' AND indexname LIKE 'chunks_embedding_%'"
    )
    for dimensions in (512, 1024, 1536):
        await admin.execute(f"DROP INDEX search.chunks_embedding_{dimensions}")
    await admin.execute("DROP INDEX search.chunks_tokens")
    callers: list[CollectionCaller] = []
    for number in range(SMALL_TENANTS + 1):
        share = passages // 2 if number == 0 else passages // 2 // SMALL_TENANTS
        caller = CollectionCaller(UUID(int=1000 + number), UUID(int=9000 + number), "rag")
        callers.append(caller)
        await _fill_tenant(admin, caller, share, number)
    await admin.execute("SET maintenance_work_mem = '1GB'")
    await admin.execute("CREATE INDEX chunks_tokens ON search.chunks USING gin (tokens)")
    for row in indexes:
        await admin.execute(row["indexdef"].replace(" ON ONLY ", " ON "))
    await admin.execute("VACUUM ANALYZE")
    searched = [
        centres[numbers.integers(CENTRES)] + noises[numbers.integers(NOISES)] + 0.5 * noises[numbers.integers(NOISES)]
        for _ in range(1_000)
    ]
    return callers[0], callers[1], [one / np.float32(np.linalg.norm(one)) for one in searched]


async def _fill_tenant(admin: Any, caller: CollectionCaller, passages: int, number: int) -> None:
    documents = passages // CHUNKS_OF_DOCUMENT
    await admin.execute(_TENANT, caller.tenant_id, f"bench-{number}")
    await admin.execute(_USER, caller.tenant_id, caller.user_id, f"bench-{number}@mail.test")
    made = await admin.fetchrow(_COLLECTION, caller.tenant_id, caller.user_id, documents, passages)
    await admin.execute(
        """INSERT INTO search.documents (tenant_id, collection_id, key, title, text, tags, metadata, url, version,
                chunks, bytes, updated_at)
            SELECT $1, $2, 'key' || n, 'Title ' || n, repeat('some words of a passage ', 300), ARRAY['tag' || n % 10],
                jsonb_build_object('n', n % 100), '', 1, 10, 0, now() + n * interval '1 s'
            FROM generate_series(1, $3::int) n""",
        caller.tenant_id,
        made["id"],
        documents,
    )
    await admin.execute(
        f"""INSERT INTO search.chunks (tenant_id, collection_id, document_id, generation, place, start, length, heading,
                embedding, tokens)
            SELECT $1, $2, d.id, $3, p, p * 700, 700, 'Heading', l2_normalize(a.v + b.v), (
                SELECT array_to_tsvector(array_agg(DISTINCT $3::bigint || ':' || {_WORD}))
                FROM generate_series(1, 100) g WHERE d.n + p + g > 0)
            FROM (SELECT id, row_number() OVER () AS n FROM search.documents WHERE collection_id = $2) d
            CROSS JOIN generate_series(0, 9) p
            JOIN parts a ON a.kind = 0 AND a.n = (d.n * 7 + p) % {CENTRES}
            JOIN parts b ON b.kind = 1 AND b.n = (d.n * 13 + p * 31 + d.n / 7) % {NOISES}""",
        caller.tenant_id,
        made["id"],
        made["generation"],
    )
    await admin.execute(
        """INSERT INTO search.token_counts
            SELECT $1, $2, $3, split_part(lexeme, ':', 2), count(*) FROM search.chunks c
            CROSS JOIN unnest(tsvector_to_array(c.tokens)) AS lexeme WHERE c.collection_id = $2 GROUP BY 4""",
        caller.tenant_id,
        made["id"],
        made["generation"],
    )


def make_query(chance: random.Random) -> str:
    """Make a query of a few words, frequent and rare ones."""
    return " ".join(f"w{int(WORDS ** chance.random())}" for _ in range(chance.randint(1, 6)))


async def time_searches(search: Callable[[str], Awaitable[object]], rounds: int) -> list[float]:
    """Return the milliseconds of each search."""
    chance, times = random.Random(3), []
    for number in range(rounds + 20):
        query = make_query(chance)
        began = time.perf_counter()
        await search(query)
        if number >= 20:  # the first make plans and fill caches
            times.append((time.perf_counter() - began) * 1000)
    return sorted(times)


def make_rows(what: str, times: Sequence[float], must: float | None = None) -> list[Row]:
    """Make the rows of one kind of search."""
    p95 = times[int(len(times) * 0.95)]
    return [
        Row("SE", f"{what}, p50", "ms", (statistics.median(times),), more_is_better=False),
        Row("SE", f"{what}, p95", "ms", (p95,), must, more_is_better=False),
    ]


async def measure_searches(database: Database, admin: DatabaseAddress, passages: int, rounds: int) -> list[Row]:
    """Fill the database, and measure kinds of searches."""
    large, small, vectors = await fill(admin, passages)
    engine = SearchEngine(database, OneEmbedder(BenchEmbedder(vectors)))
    rows: list[Row] = []
    kinds: tuple[tuple[str, CollectionCaller, SearchScope, DocumentCondition], ...] = (
        ("search of the large tenant", large, SearchScope.HYBRID, DocumentCondition()),
        ("by meaning", large, SearchScope.MEANING, DocumentCondition()),
        ("by words", large, SearchScope.WORDS, DocumentCondition()),
        ("with a tag that a tenth has", large, SearchScope.HYBRID, DocumentCondition(tags=("tag3",))),
        ("with metadata that a hundredth has", large, SearchScope.HYBRID, DocumentCondition(metadata={"n": 7})),
        ("search of a small tenant", small, SearchScope.HYBRID, DocumentCondition()),
    )
    for what, caller, scope, condition in kinds:

        async def search(
            query: str,
            caller: CollectionCaller = caller,
            scope: SearchScope = scope,
            condition: DocumentCondition = condition,
        ) -> None:
            await engine.search(caller, query, scope=scope, condition=condition)

        rows += make_rows(what, await time_searches(search, rounds), MUST)
    return rows


async def measure_indexing(database: Database, caller: CollectionCaller, passages: int) -> list[Row]:
    """Store documents of one and of eight passages with the built-in model, two at a time, beside the model's own
    speed."""
    embedder = BuiltinEmbedder()
    chance = random.Random(5)
    texts = [" ".join(f"word{int(WORDS ** chance.random())}" for _ in range(100)) for _ in range(passages)]
    await embedder.load()
    began = time.perf_counter()
    await embedder.embed_documents(texts)
    alone = passages / (time.perf_counter() - began)
    rows = [Row("SE", "passages embedded a second", "1/s", (alone,))]
    engine = SearchEngine(database, OneEmbedder(embedder))
    for size, must in ((1, None), (8, EMBEDDER_SHARE)):
        documents = ["\n\n".join(texts[first : first + size]) for first in range(0, passages, size)]
        began = time.perf_counter()
        stored = await _store_all(engine, caller, f"of {size}", documents) / (time.perf_counter() - began)
        rows.append(Row("SE", f"passages stored a second, {size} a document", "1/s", (stored,)))
        rows.append(
            Row("SE", f"storing {size} a document, of the embedder's speed", "%", (stored / alone * 100,), must)
        )
    embedder.close()
    return rows


async def _store_all(engine: SearchEngine, caller: CollectionCaller, name: str, documents: Sequence[str]) -> int:
    """Store documents, two at a time; return how many passages they have."""
    collection = await engine.open_collection(caller, name)

    async def store(first: int) -> int:
        passages = 0
        for number in range(first, len(documents), 2):
            draft = DocumentDraft(f"k{number}", "", documents[number])
            passages += (await engine.put_document(caller, collection.id, draft)).chunks
        return passages

    return sum(await asyncio.gather(store(0), store(1)))


def measure(lab: Lab) -> list[Result]:
    """Searches, and the rate of storing."""
    product = lab.new_product("search")
    settings = unlimited(product.home, product.port, product.upstream)
    passages = 2_000 if lab.options.quick else 100_000

    async def run() -> list[Row]:
        async with (
            open_operator_context(settings, lambda _text: None) as operating,
            open_role_database(operating.deployment, GATEWAY_ROLE, max_connections=8) as gateway,
        ):
            lab.progress(f"writing {passages:,} passages")
            rounds, texts = (20, 24) if lab.options.quick else (300, 1_000)
            rows = await measure_searches(gateway, operating.deployment.admin, passages, rounds)
            large = CollectionCaller(UUID(int=1000), UUID(int=9000), "rag")
            return rows + await measure_indexing(gateway, large, texts)

    return [Result(tuple(asyncio.run(run())))]
