"""Export of audit entries: CSV for spreadsheets, JSON Lines for programs, both streamed."""

import csv
import io
import json
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel

from core.errors import LimitReached

ExportForm = Literal["csv", "jsonl"]
EXPORT_MEDIA_TYPES: Mapping[ExportForm, str] = {
    "csv": "text/csv; charset=utf-8",
    "jsonl": "application/jsonl; charset=utf-8",
}
EXPORT_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Entries of the audit log, one a line.",
        "content": {
            "text/csv": {"schema": {"type": "string", "description": "Comma-separated values with a header."}},
            "application/jsonl": {"schema": {"type": "string", "description": "One JSON object a line."}},
        },
    }
}
MAX_EXPORTS_PER_PERSON, MAX_EXPORTS = 2, 10
BYTE_ORDER_MARK = "\ufeff"
"""Without it, spreadsheets take UTF-8 for something else."""
FORMULA_BEGINNINGS = ("=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠")
"""With one of these, spreadsheets take a cell for a formula (OWASP, CSV Injection)."""


class AuditExports:
    """The running exports of this process."""

    def __init__(self) -> None:
        self._running: Counter[UUID] = Counter()

    def admit(self, user_id: UUID) -> None:
        """Check that one more export may begin.

        Raises:
            LimitReached: this person, or this process, has too many.
        """
        if self._running[user_id] >= MAX_EXPORTS_PER_PERSON or self._running.total() >= MAX_EXPORTS:
            raise LimitReached("other exports are running; wait until one has ended", retry_after=10)

    async def count(self, user_id: UUID, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """Count an export for as long as its chunks are read."""
        self._running[user_id] += 1
        try:
            async for chunk in chunks:
                yield chunk
        finally:
            self._running[user_id] -= 1
            if not self._running[user_id]:
                del self._running[user_id]


def build_export_headers(form: ExportForm) -> dict[str, str]:
    """Build the headers by which a browser saves the export."""
    return {"Content-Disposition": f'attachment; filename="audit.{form}"'}


async def encode_export(
    pages: AsyncIterator[Sequence[BaseModel]], columns: Sequence[str], form: ExportForm
) -> AsyncIterator[bytes]:
    """Encode pages of entries, one chunk a page; of a CSV the first row names the columns."""
    if form == "csv":
        yield (BYTE_ORDER_MARK + _encode_csv([columns])).encode()
    async for page in pages:
        rows = [entry.model_dump(mode="json") for entry in page]
        if form == "jsonl":
            yield "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()
        else:
            yield _encode_csv([[row[column] for column in columns] for row in rows]).encode()


def _encode_csv(rows: Sequence[Sequence[Any]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\r\n")
    writer.writerows([_encode_cell(value) for value in row] for row in rows)
    return text.getvalue()


def _encode_cell(value: Any) -> str:
    """Encode a cell; one that a spreadsheet would compute gets an apostrophe before it."""
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return f"'{text}" if isinstance(value, str) and text.startswith(FORMULA_BEGINNINGS) else text
