"""Models of sentence-transformers are loaded by the library itself: a tiny one is made here, and loaded."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from core.http.guarded_client import GuardedClient
from core.http.outbound_addresses import AllowedAddresses
from search.embedding.local_models import LocalEmbedder
from search.embedding.model import EmbeddingAnswerUnusable, EmbeddingModel, EmbeddingModelUnknown, EmbeddingRefused
from search.embedding.registry import EmbedderRegistry, EmbeddingOptions, LocalModel

MODEL = EmbeddingModel("tiny", 16, 0.0, 800, 400)
INSTALLED = importlib.util.find_spec("sentence_transformers") is not None
needs_library = pytest.mark.skipif(
    not INSTALLED, reason="sentence-transformers is not installed (an extra; with torch)"
)


def make_model(folder: Path) -> Path:
    """A BERT of random weights that has a few words."""
    from sentence_transformers import SentenceTransformer  # pyright: ignore[reportMissingImports]
    from sentence_transformers.sentence_transformer import modules  # pyright: ignore[reportMissingImports]
    from transformers import BertConfig, BertModel, BertTokenizerFast  # pyright: ignore[reportMissingImports]

    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "query", "passage", ":", "a", "b", "検", "索"]
    vocabulary = folder / "vocab.txt"
    vocabulary.write_text("\n".join(words), "utf-8")
    inner = folder / "inner"
    sizes = {"num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    config = BertConfig(vocab_size=len(words), hidden_size=16, **sizes)
    BertModel(config).save_pretrained(inner)
    BertTokenizerFast(str(vocabulary)).save_pretrained(inner)
    layers = [modules.Transformer(str(inner)), modules.Pooling(16)]
    SentenceTransformer(modules=layers).save(str(folder / "model"))
    return folder / "model"


@needs_library
async def test_a_model_is_loaded_from_its_folder(tmp_path: Path) -> None:
    embedder = LocalEmbedder(MODEL, path=str(make_model(tmp_path)), prefixes=("query: ", "passage: "))
    vectors = await embedder.embed_documents(["a b", "b", "", "a"] * 5)
    question = await embedder.embed_query("a b")
    embedder.close()
    assert len(vectors) == 20
    assert all(float(np.linalg.norm(vector)) == pytest.approx(1, abs=1e-4) for vector in vectors)
    assert float(vectors[0] @ vectors[4]) == pytest.approx(1, abs=1e-4)
    assert float(question @ vectors[0]) < 1 - 1e-4  # another prefix


@needs_library
async def test_a_model_of_other_dimensions_is_refused(tmp_path: Path) -> None:
    other = EmbeddingModel("tiny", 17, 0.0, 800, 400)
    embedder = LocalEmbedder(other, path=str(make_model(tmp_path)))
    with pytest.raises(EmbeddingAnswerUnusable):
        await embedder.embed_query("a")
    embedder.close()


@needs_library
async def test_a_model_that_is_not_here_is_not_fetched(tmp_path: Path) -> None:
    embedder = LocalEmbedder(MODEL, path=str(tmp_path / "missing"))
    with pytest.raises(EmbeddingRefused):
        await embedder.embed_query("a")
    embedder.close()


@pytest.mark.skipif(INSTALLED, reason="sentence-transformers is installed")
async def test_without_the_library_the_error_says_what_to_install() -> None:
    embedder = LocalEmbedder(MODEL, path="anything")
    with pytest.raises(EmbeddingModelUnknown, match=r"pip install 'mcpist\[sentence-transformers\]'"):
        await embedder.embed_query("a")
    embedder.close()


class FakeLibrary:
    """Keeps what it is asked to embed."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def encode(self, texts: list[str], **options: object) -> object:
        self.texts += texts
        return np.ones((len(texts), 256), dtype=np.float32) / 16


@pytest.mark.parametrize(
    ("name", "prefixes"),
    [
        ("cl-nagoya/ruri-v3-30m", ["検索クエリ: q", "検索文書: d"]),
        ("intfloat/multilingual-e5-small", ["query: q", "passage: d"]),
        ("sentence-transformers/LaBSE", ["q", "d"]),
    ],
)
async def test_prefixes_are_those_of_the_models_card(
    monkeypatch: pytest.MonkeyPatch, name: str, prefixes: list[str]
) -> None:
    library = FakeLibrary()
    monkeypatch.setattr(LocalEmbedder, "_make_encoder", lambda self: library)
    options = EmbeddingOptions(local=LocalModel(name, name, 256))
    registry = EmbedderRegistry(options, GuardedClient(AllowedAddresses(), connections=1))
    embedder = registry.get_embedder(name)
    await embedder.embed_query("q")
    await embedder.embed_documents(["d"])
    registry.close()
    assert library.texts == prefixes
