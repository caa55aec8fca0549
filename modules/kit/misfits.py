"""Fields of vendors' answers that did not fit, for ``mcpist service check``: names of ours only, never a content."""

import re
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any, get_args

from pydantic import AliasChoices, AliasPath, BaseModel, ValidationError

MAX_MISFITS = 20
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,60}")
_collected: ContextVar[dict[str, None] | None] = ContextVar("collected_misfits", default=None)


@contextmanager
def collect_misfits() -> Generator[dict[str, None]]:
    """Collect what does not fit within the block, as the keys of a dict such as ``issues.*.number: missing``."""
    collected: dict[str, None] = {}
    token = _collected.set(collected)
    try:
        yield collected
    finally:
        _collected.reset(token)


def note_misfit(shape: Any, error: ValidationError) -> None:
    """Note why a value is not of `shape`; costs nothing where nobody collects. A name that the shape does not have,
    such as a key of the vendor's, is noted as ``*``."""
    collected = _collected.get()
    if collected is None:
        return
    names = _list_names(shape)
    for problem in error.errors(include_url=False, include_context=False, include_input=False):
        if len(collected) >= MAX_MISFITS:
            return
        path = [part if isinstance(part, str) and part in names else "*" for part in problem["loc"]]
        collected[f"{'.'.join(path) or 'the whole answer'}: {problem['type']}"] = None


@cache
def _list_names(shape: Any) -> frozenset[str]:
    names: set[str] = set()
    seen: list[Any] = []
    waiting: list[Any] = [shape]
    while waiting:
        one = waiting.pop()
        waiting += get_args(one)
        if not (isinstance(one, type) and issubclass(one, BaseModel)) or one in seen:
            continue
        seen.append(one)
        for name, field in one.model_fields.items():
            names |= {name, *_list_aliases(field.validation_alias or field.alias)}
            waiting.append(field.annotation)
    return frozenset(name for name in names if _NAME.fullmatch(name))


def _list_aliases(alias: str | AliasPath | AliasChoices | None) -> Iterator[str]:
    if isinstance(alias, str):
        yield alias
    elif isinstance(alias, AliasPath):
        yield from (part for part in alias.path if isinstance(part, str))
    elif isinstance(alias, AliasChoices):
        for choice in alias.choices:
            yield from _list_aliases(choice)
