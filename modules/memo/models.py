"""Arguments and results of memos; field names are those of the memo service whose interface this is."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from modules.kit import SensitiveParameter, UnstoredParameter
from modules.kit.parameters import OptionalParameter

MAX_MEMO_TEXT = 200_000
MAX_SUMMARY = 20_000
MAX_KEYWORDS = 50
MAX_KEYWORDS_CHARS = 500
"""Of a memo's keywords together, with a space between."""

SessionId = Annotated[str, Field(min_length=1, max_length=200, description="Conversation that the memo comes from")]
MemoText = Annotated[
    str,
    Field(min_length=1, max_length=MAX_MEMO_TEXT, description="Text to remember; it is not kept"),
    UnstoredParameter(),
]
Summary = Annotated[
    OptionalParameter[Annotated[str, Field(min_length=1, max_length=MAX_SUMMARY)]],
    Field(description="Your own summary: all that is kept, and found better"),
]
Keyword = Annotated[str, Field(min_length=1, max_length=100)]
Importance = Annotated[
    OptionalParameter[Annotated[float, Field(allow_inf_nan=False)]],
    Field(description="How important it is, such as 0 to 1: shown with what is found"),
]
MemoQuery = Annotated[
    str,
    Field(min_length=1, max_length=2_000, description="What to look for, in your own words"),
    SensitiveParameter(),
]
MemoId = Annotated[str, Field(pattern=r"^[0-9a-f]{32}$", description="memo_id of a memo that was saved or found")]


class SavedMemo(BaseModel):
    """A memo that was saved. `chroma_ids` are its entries: one for the summary, or one for each chunk."""

    memo_id: str
    saved_at: datetime
    chroma_ids: list[str]
    used_summary: bool


class MemoMetadata(BaseModel):
    """What is known of an entry of a memo."""

    memo_id: str
    session_id: str
    chunk_index: int
    is_summary: bool
    keywords: list[str]
    importance: float | None
    saved_at: datetime
    text_hash: str | None


class MemoEntry(BaseModel):
    """An entry of a memo; `summary` is null where no text was kept."""

    summary: str | None
    metadata: MemoMetadata


class FoundMemoEntry(MemoEntry):
    """An entry that was found; `distance` is 0 for the same meaning, and 2 at most (cosine)."""

    distance: float


class FoundMemos(BaseModel):
    """Entries that were found: those with all words of the query, in their keywords or kept text, then the others, each
    nearest first."""

    query: str
    results: list[FoundMemoEntry]


class Memo(BaseModel):
    """A memo with its entries."""

    memo_id: str
    entries: list[MemoEntry]


class DeletedMemo(BaseModel):
    """A memo that was deleted, and the number of its entries."""

    memo_id: str
    deleted: int


class MemoHealth(BaseModel):
    """State of the caller's memos: `status` is ``ok`` where the store answers and the embedding model has embedded
    something, and else ``degraded``: `problem` says why."""

    status: Literal["ok", "degraded"]
    embedding_model: str
    problem: str | None = None
