"""What an embedding model is, and what can fail when it is asked. Imports no numpy: that is loaded with a model."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol, TypeAlias

import orjson

from core.errors import MCPistError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

Vector: TypeAlias = "npt.NDArray[np.float32]"
"""A vector of unit length, so that a dot product is a cosine."""


@dataclass(frozen=True, slots=True)
class EmbeddingModel:
    """A model by its `name`, which a collection locks.

    `floor` is the cosine below which a passage is noise to this model; scales differ, so no other code knows a number.
    A chunk has at most `max_chars` characters, or `max_cjk_chars` where it is Japanese: longer texts blur.
    """

    name: str
    dimensions: int
    floor: float
    max_chars: int
    max_cjk_chars: int


class Embedder(Protocol):
    """Makes vectors by one model. Both methods raise EmbeddingError."""

    @property
    def model(self) -> EmbeddingModel:
        """The model."""
        ...

    async def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        """Embed passages, in their order."""
        ...

    async def embed_query(self, text: str) -> Vector:
        """Embed a question or a few words."""
        ...


class EmbeddingError(MCPistError):
    """A text could not be embedded. The message names the service, and nothing that it has said."""


class EmbeddingModelUnknown(EmbeddingError):
    """There is no model of this name, or what it needs is not installed."""

    status, code, exit_code = 400, "embedding_model_unknown", 2


class EmbeddingKeyMissing(EmbeddingError):
    """The service wants a key and there is none."""

    status, code, exit_code = 409, "embedding_key_missing", 5


class EmbeddingRefused(EmbeddingError):
    """The service refused the request, failed or did not answer; `is_transient` where a later attempt may succeed."""

    status, code, exit_code = 503, "embedding_refused", 7

    def __init__(self, message: str, *, is_transient: bool) -> None:
        super().__init__(message)
        self.is_transient = is_transient


class EmbeddingAnswerUnusable(EmbeddingError):
    """The service answered with no vectors, too few, or others than the model has."""

    status: ClassVar[int] = 502
    code, exit_code = "embedding_answer_unusable", 7


def format_vector(vector: Vector) -> str:
    """Write a vector in pgvector's text form, ``[0.25,-0.5]``; 30 µs for 512 dimensions."""
    return orjson.dumps(vector, option=orjson.OPT_SERIALIZE_NUMPY).decode()
