"""Output of commands: one JSON document for scripts, or text and tables for people."""

import sys
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson
import typer

PIPED_WIDTH = 240
"""Columns where nobody looks at a screen: what is read by a program must not be wrapped."""


def print_result(as_json: bool, document: Any, human: Callable[[], None]) -> None:
    """Print `document` as JSON, or let `human` print."""
    if as_json:
        print_json(document)
    else:
        human()


def print_json(document: Any) -> None:
    """Print one document on one line; dataclasses, times, ids and bytes (as hexadecimal) are supported."""
    typer.echo(orjson.dumps(document, default=_to_json_value).decode())


def format_json(document: Any) -> str:
    """JSON for a person's eyes."""
    return orjson.dumps(document, default=_to_json_value, option=orjson.OPT_INDENT_2).decode()


def print_line(text: str) -> None:
    """Print one line on standard output."""
    typer.echo(escape_control_characters(text))


def print_note(text: str) -> None:
    """Print one line on standard error, beside the result."""
    typer.echo(escape_control_characters(text), err=True)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[Any]], *, empty: str) -> None:
    """Print a table, or the line `empty` where there are no rows."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    cells = [[_format_cell(value) for value in row] for row in rows]
    if not cells:
        print_line(empty)
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in cells:
        table.add_row(*map(Text, row))
    console = Console(file=sys.stdout, width=None if sys.stdout.isatty() else PIPED_WIDTH, highlight=False)
    console.print(table)


def escape_control_characters(text: str) -> str:
    """Replace control characters: text of strangers must not control the operator's terminal."""
    return "".join(sign if sign.isprintable() or sign == "\n" else repr(sign)[1:-1] for sign in text)


def format_local_time(moment: datetime | None) -> str:
    """Format a time in this machine's zone, with its offset."""
    return "" if moment is None else moment.astimezone().isoformat(sep=" ", timespec="seconds")


def _format_cell(value: Any) -> str:
    if isinstance(value, datetime):
        return format_local_time(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple | list):
        return ", ".join(escape_control_characters(str(item)) for item in value)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return "" if value is None else escape_control_characters(str(value)).replace("\n", " ")


def _to_json_value(value: Any) -> Any:
    if isinstance(value, UUID):  # the database driver's own subclass
        return str(value)
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, frozenset | set):
        return sorted(value)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    raise TypeError(type(value).__name__)
