"""A folder of Markdown files: which are documents, what each is called, and what is passed over and why."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cli.moving_in.graph_lines import RefusedEntry
from core.errors import Invalid
from modules.kit.collections import MAX_DOCUMENT_KEY, MAX_DOCUMENT_TEXT, MAX_TITLE_LENGTH
from modules.kit.front_matter import FrontMatter, read_front_matter

SUFFIXES = (".md", ".markdown")
MAX_FILE_BYTES = 4 * MAX_DOCUMENT_TEXT


@dataclass(frozen=True, slots=True)
class MarkdownDocument:
    """A file as it becomes a document. `path` is relative to the folder, with slashes; `head` is the front matter."""

    path: str
    title: str
    tags: tuple[str, ...]
    text: str
    body: str
    head: str


def list_markdown_files(folder: Path) -> tuple[list[Path], list[RefusedEntry]]:
    """List the files of a folder in order, and what is passed over: hidden things and symbolic links. Other files than
    Markdown are not told.

    Raises:
        Invalid: it is no folder, or cannot be read.
    """
    if not folder.is_dir():
        raise Invalid(f"{folder} is no folder")
    files: list[Path] = []
    skipped: list[RefusedEntry] = []
    waiting = [folder]
    while waiting:
        current = waiting.pop()
        try:
            entries = sorted(os.scandir(current), key=lambda entry: entry.name)
        except OSError as error:
            if current == folder:
                raise Invalid(f"cannot read {folder}: {error.strerror}") from None
            skipped.append(RefusedEntry(_name(folder, current), f"cannot be read: {error.strerror}"))
            continue
        for entry in entries:
            path = Path(entry.path)
            if (reason := _explain_skip(entry, folder)) is not None:
                if reason:
                    skipped.append(RefusedEntry(_name(folder, path), reason))
            elif entry.is_dir(follow_symlinks=False):
                waiting.append(path)
            else:
                files.append(path)
    return sorted(files), skipped


def read_document(folder: Path, path: Path) -> MarkdownDocument | str:
    """Read a file; return why not where it is no document."""
    name = _name(folder, path)
    try:
        name.encode()
    except UnicodeEncodeError:
        return "its name is not UTF-8"
    if len(name) > MAX_DOCUMENT_KEY:
        return f"its path has more than {MAX_DOCUMENT_KEY} characters"
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    if len(data) > MAX_FILE_BYTES:
        return f"is larger than {MAX_FILE_BYTES:,} bytes"
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return "is not UTF-8"
    text = text.replace("\r\n", "\n")
    if len(text) > MAX_DOCUMENT_TEXT:
        return f"has {len(text):,} characters, and the limit is {MAX_DOCUMENT_TEXT:,}"
    if "\x00" in text:
        return "has the character U+0000, which no text has"
    front = read_front_matter(text)
    if not front.rest.strip():
        return "is empty"
    title = (front.title or _find_heading(front) or path.stem)[:MAX_TITLE_LENGTH]
    return MarkdownDocument(name, title, front.tags, text, front.rest, text[: front.offset])


def _explain_skip(entry: "os.DirEntry[str]", folder: Path) -> str | None:
    """Return why an entry is passed over; empty where nobody wants to know, None where it is not."""
    is_markdown = entry.name.lower().endswith(SUFFIXES)
    if entry.name.startswith("."):
        return "is hidden" if is_markdown or entry.is_dir(follow_symlinks=False) else ""
    if entry.is_symlink():
        if not (is_markdown or entry.is_dir()):
            return ""
        is_inside = Path(entry.path).resolve().is_relative_to(folder.resolve())
        return "is a symbolic link" if is_inside else "is a symbolic link out of the folder"
    if entry.is_dir(follow_symlinks=False) or (is_markdown and entry.is_file(follow_symlinks=False)):
        return None
    return "is no regular file" if is_markdown else ""


def _find_heading(front: FrontMatter) -> str:
    for line in _iterate_lines(front.rest):
        if line.startswith("# "):
            return line[2:].strip()
        if line.strip():
            return ""
    return ""


def _iterate_lines(text: str) -> Iterator[str]:
    start = 0
    while start < len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        yield text[start:end]
        start = end + 1


def _name(folder: Path, path: Path) -> str:
    return path.relative_to(folder).as_posix()
