"""From the name of an embedding model to what embeds by it.

Names: ``use-multilingual-v3``; ``voyage-…`` and ``text-embedding-…`` as their vendors write them;
``openai:NAME@DIMENSIONS`` for a model of a service that speaks OpenAI's protocol; and the name of the configuration's
one local model. ``@DIMENSIONS`` after a vendor's name asks for fewer than the model gives by itself.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from core.http.guarded_client import GuardedClient
from core.secret import Secret
from search.embedding.builtin import BUILTIN_MODEL, BuiltinEmbedder
from search.embedding.http_models import OPENAI_URL, VOYAGE_URL, EmbeddingService, HttpEmbedder
from search.embedding.local_models import LocalEmbedder
from search.embedding.model import Embedder, EmbeddingModel, EmbeddingModelUnknown

MAX_DIMENSIONS = 4_000
"""What pgvector indexes as halfvec."""
UNMEASURED_FLOOR = 0.0
CHUNK_CHARS = (1_600, 800)
"""For models that read whole passages: characters of a chunk, and of a Japanese one."""

_NAME = re.compile(r"(?P<model>[\w./:-]{1,100})(?:@(?P<dimensions>[1-9][0-9]{0,3}))?", re.ASCII)
_OPENAI_PREFIX = "openai:"
_VOYAGE_FIXED = {
    "voyage-3-lite": 512,
    "voyage-3": 1024,
    "voyage-multilingual-2": 1024,
    "voyage-law-2": 1024,
    "voyage-finance-2": 1024,
    "voyage-code-2": 1536,
}
"""Models that take no ``output_dimension``."""
_VOYAGE_SIZED = re.compile(r"voyage-(?:3-large|3\.5|3\.5-lite|code-3|[4-9](?:\.[0-9])?(?:-large|-lite)?)")
_VOYAGE_SIZES = frozenset({256, 512, 1024, 2048})
_VOYAGE_DEFAULT_SIZE = 1024
_OPENAI_SIZES = {"text-embedding-3-small": 1536, "text-embedding-3-large": 3072, "text-embedding-ada-002": 1536}
_OPENAI_FIXED = frozenset({"text-embedding-ada-002"})
_RURI = ("検索クエリ: ", "検索文書: ")
_E5 = ("query: ", "passage: ")


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A model of sentence-transformers: its name for collections, the folder or name it is loaded by, where it computes
    (``cpu``, ``cuda``), and its vectors' dimensions."""

    name: str
    path: str
    dimensions: int
    device: str = "cpu"


@dataclass(frozen=True, slots=True)
class EmbeddingOptions:
    """What the configuration says of embedding. Every URL is without a slash at its end."""

    threads: int = 2
    voyage_url: str = VOYAGE_URL
    openai_url: str = OPENAI_URL
    local: LocalModel | None = None


@dataclass(frozen=True, slots=True)
class _VendorModel:
    model: EmbeddingModel
    service: EmbeddingService
    name: str
    sized: bool


@dataclass(slots=True)
class EmbedderRegistry:
    """Embedders of a process. `http` asks vendors, and is opened and closed by its owner."""

    options: EmbeddingOptions
    http: GuardedClient
    _builtin: BuiltinEmbedder = field(init=False)
    _local: LocalEmbedder | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self._builtin = BuiltinEmbedder(threads=self.options.threads)
        if self.options.local is not None:
            self._local = _make_local(self.options.local)

    def close(self) -> None:
        """End the threads of the models that run here."""
        self._builtin.close()
        if self._local is not None:
            self._local.close()

    def get_model(self, name: str) -> EmbeddingModel:
        """Return the model of this name.

        Raises:
            EmbeddingModelUnknown: there is none.
        """
        if name == BUILTIN_MODEL.name:
            return BUILTIN_MODEL
        if self._local is not None and name == self._local.model.name:
            return self._local.model
        return self._find_vendor_model(name).model

    def find_vendor(self, name: str) -> str:
        """Return the title of the vendor that sees the texts, empty for a model that runs here.

        Raises:
            EmbeddingModelUnknown: there is no model of this name.
        """
        if name == BUILTIN_MODEL.name or (self._local is not None and name == self._local.model.name):
            return ""
        return self._find_vendor_model(name).service.title

    def is_loaded(self, name: str) -> bool:
        """Check whether a model that runs here is in memory; a vendor's always is.

        Raises:
            EmbeddingModelUnknown: there is no model of this name.
        """
        embedder = self.get_embedder(name)
        return embedder.is_loaded if isinstance(embedder, BuiltinEmbedder | LocalEmbedder) else True

    def get_embedder(self, name: str, key: Secret | None = None) -> Embedder:
        """Return what embeds by the model of this name, with a tenant's `key` for its vendor.

        Raises:
            EmbeddingModelUnknown: there is no model of this name.
        """
        if name == BUILTIN_MODEL.name:
            return self._builtin
        if self._local is not None and name == self._local.model.name:
            return self._local
        found = self._find_vendor_model(name)
        return HttpEmbedder(found.model, found.service, key, self.http, vendor_model=found.name, sized=found.sized)

    def _find_vendor_model(self, name: str) -> _VendorModel:
        parts = _NAME.fullmatch(name)
        if parts is None:
            raise _unknown(name)
        model, wanted = parts["model"], int(parts["dimensions"] or 0)
        if model.startswith("voyage-"):
            service = EmbeddingService("Voyage", self.options.voyage_url, "voyage")
            dimensions, sized = _choose_voyage_size(model, wanted)
        elif model in _OPENAI_SIZES:
            service = EmbeddingService("OpenAI", self.options.openai_url, "openai")
            dimensions, sized = _choose_openai_size(model, wanted)
        elif model.startswith(_OPENAI_PREFIX):
            service = EmbeddingService(
                "the embedding service",
                self.options.openai_url,
                "openai",
                wants_key=self.options.openai_url == OPENAI_URL,
            )
            model, dimensions, sized = model.removeprefix(_OPENAI_PREFIX), wanted, False
        else:
            raise _unknown(name)
        if not model or not 0 < dimensions <= MAX_DIMENSIONS:
            raise _unknown(name)
        return _VendorModel(EmbeddingModel(name, dimensions, UNMEASURED_FLOOR, *CHUNK_CHARS), service, model, sized)


def _choose_voyage_size(model: str, wanted: int) -> tuple[int, bool]:
    """Return the dimensions, 0 where the model does not give as many as wanted, and whether to ask for them."""
    fixed = _VOYAGE_FIXED.get(model)
    if fixed is not None:
        return (fixed if wanted in (0, fixed) else 0), False
    if not _VOYAGE_SIZED.fullmatch(model):
        return 0, False
    size = wanted or _VOYAGE_DEFAULT_SIZE
    return (size if size in _VOYAGE_SIZES else 0), True


def _choose_openai_size(model: str, wanted: int) -> tuple[int, bool]:
    """Return the dimensions, 0 where the model does not give as many as wanted, and whether to ask for them."""
    most = _OPENAI_SIZES[model]
    if model in _OPENAI_FIXED:
        return (most if wanted in (0, most) else 0), False
    return (wanted or most if wanted <= most else 0), bool(wanted)


def _make_local(local: LocalModel) -> LocalEmbedder:
    model = EmbeddingModel(local.name, local.dimensions, UNMEASURED_FLOOR, *CHUNK_CHARS)
    return LocalEmbedder(model, path=local.path, device=local.device, prefixes=_choose_prefixes(local.name))


def _choose_prefixes(name: str) -> tuple[str, str]:
    """Return what stands before questions and passages: as the cards of Ruri v3 and of multilingual E5 say."""
    low = name.lower()
    prefixes: Mapping[str, tuple[str, str]] = {"ruri-v3": _RURI, "e5-": _E5}
    return next((found for part, found in prefixes.items() if part in low), ("", ""))


def _unknown(name: str) -> EmbeddingModelUnknown:
    shown = name if name.isprintable() and len(name) <= 100 else "of this name"
    return EmbeddingModelUnknown(f"There is no embedding model {shown} here")
