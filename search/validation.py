"""Checks of what callers give: each input has a limit, and is text that a database can store."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import orjson

from core.errors import Invalid
from search import records
from search.records import DocumentCondition, DocumentDraft

_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
"""U+0000, which PostgreSQL does not store, and halves of characters, which UTF-8 does not have."""
_BREAKS_LINE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
"""Control characters, ends of lines, and halves of characters. Joiners and blanks of all scripts are part of names."""


def check_document(document: DocumentDraft) -> None:
    """Check a document.

    Raises:
        core.errors.Invalid: the first thing that is wrong with it.
    """
    check_key(document.key)
    _check_line("the title", document.title, records.MAX_TITLE_CHARS)
    _check_text("the text", document.text, records.MAX_TEXT_CHARS)
    if not (document.text.strip() or document.title.strip()):
        raise Invalid("the text is empty")
    _check_line("the URL", document.url, records.MAX_URL_CHARS)
    check_tags(document.tags)
    encode_metadata(document.metadata)
    if document.parent is not None and not 0 < len(document.parent) <= records.MAX_PARENT_CHARS:
        raise Invalid(f"a parent's key has 1 to {records.MAX_PARENT_CHARS} characters")
    if document.max_chunk_chars is not None and document.max_chunk_chars < records.MIN_CHUNK_CHARS:
        raise Invalid(f"a chunk has at least {records.MIN_CHUNK_CHARS} characters")


def is_line(text: str) -> bool:
    """Check that a text can stand on one line."""
    return _BREAKS_LINE.search(text) is None


def check_key(key: str) -> None:
    """Check the key of a document.

    Raises:
        core.errors.Invalid: it is empty, too long, or has a control character.
    """
    if not 0 < len(key) <= records.MAX_KEY_CHARS or not is_line(key):
        raise Invalid(f"the path or key of a document has 1 to {records.MAX_KEY_CHARS} characters on one line")


def check_collection_name(name: str) -> None:
    """Check the name of a collection.

    Raises:
        core.errors.Invalid: it is empty, too long, or has a control character.
    """
    most = records.MAX_COLLECTION_NAME_CHARS
    if not 0 < len(name) <= most or not is_line(name):
        raise Invalid(f"the name of a collection has 1 to {most} characters on one line")


def check_tags(tags: Sequence[str]) -> None:
    """Check tags.

    Raises:
        core.errors.Invalid: there are too many, or one is empty, too long, or has a control character.
    """
    if len(tags) > records.MAX_TAGS:
        raise Invalid(f"a document has at most {records.MAX_TAGS} tags")
    if not all(0 < len(tag) <= records.MAX_TAG_CHARS and is_line(tag) for tag in tags):
        raise Invalid(f"a tag has 1 to {records.MAX_TAG_CHARS} characters on one line")


def encode_metadata(metadata: Mapping[str, Any]) -> str:
    """Encode metadata as JSON.

    Raises:
        core.errors.Invalid: it is too large, or cannot be stored.
    """
    try:
        encoded = orjson.dumps(dict(metadata))
    except TypeError:  # also of a lone surrogate, of large numbers and of what is nested too deeply
        raise Invalid("the metadata cannot be stored: it is no JSON") from None
    if len(encoded) > records.MAX_METADATA_BYTES:
        raise Invalid(f"the metadata has at most {records.MAX_METADATA_BYTES} bytes of JSON")
    if b"\\u0000" in encoded:
        raise Invalid("the metadata cannot be stored: it has the character U+0000")
    return encoded.decode()


def check_query(query: str) -> None:
    """Check a query.

    Raises:
        core.errors.Invalid: it is empty or too long.
    """
    _check_text("the query", query, records.MAX_QUERY_CHARS)
    if not query.strip():
        raise Invalid("the query is empty")


def check_condition(condition: DocumentCondition) -> None:
    """Check a filter.

    Raises:
        core.errors.Invalid: the first thing that is wrong with it.
    """
    check_tags(condition.tags)
    encode_metadata(condition.metadata)
    if condition.key_prefix:
        check_key(condition.key_prefix)
    for name, moment in (("since", condition.since), ("until", condition.until)):
        if moment is not None and not _has_zone(moment):
            raise Invalid(f"`{name}` is a time with a time zone")


def check_limit(limit: int, most: int) -> None:
    """Check how many are asked for.

    Raises:
        core.errors.Invalid: fewer than one, or more than `most`.
    """
    if not 1 <= limit <= most:
        raise Invalid(f"the limit is 1 to {most}")


def _check_text(name: str, text: str, most: int) -> None:
    if len(text) > most:
        raise Invalid(f"{name} has at most {most:,} characters")
    if (found := _UNSTORABLE.search(text)) is not None:
        raise Invalid(f"{name} has a character that cannot be stored, at position {found.start()}")


def _check_line(name: str, text: str, most: int) -> None:
    _check_text(name, text, most)
    if not is_line(text):
        raise Invalid(f"{name} has a control character")


def _has_zone(moment: datetime) -> bool:
    return moment.tzinfo is not None and moment.utcoffset() is not None
