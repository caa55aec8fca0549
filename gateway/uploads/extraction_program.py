"""The program that reads one uploaded file: bytes on standard input, a JSON object on standard output.

    python -I -m gateway.uploads.extraction_program FORMAT CHARSET CHARACTERS CPU_SECONDS MEMORY_BYTES

Whoever sends a file may find a mistake in what reads it, so the process has nothing of value and can do nothing: no
environment, no database, and before it reads the first byte it gives up opening anything (no file, no socket, no
pipe), starting processes, memory and time beyond its limits.
"""

import contextlib
import encodings
import importlib
import json
import os
import pkgutil
import resource
import sys
from collections.abc import Callable
from types import ModuleType

from gateway.uploads.formats import DocumentFormat, ExtractedText, UnreadableDocument, UnreadableReason

MAX_TITLE_CHARS = 500

ReadFile = Callable[[bytes], ExtractedText]


def main() -> None:
    """Read the file of standard input; answer its title and text, or the reason why there is none."""
    name, charset, characters, cpu_seconds, memory = sys.argv[1:]
    most = int(characters)
    read = load_reader(DocumentFormat(name), charset, most)
    limit_process(int(cpu_seconds), int(memory))
    answer = read_file(read, sys.stdin.buffer.read(), most)
    sys.stdout.buffer.write(json.dumps(answer, ensure_ascii=False).encode())
    sys.stdout.buffer.flush()


def load_reader(format: DocumentFormat, charset: str, most: int) -> ReadFile:
    """Load what reads files of a format: only that one's libraries, and all of them, since nothing can be loaded
    later."""
    _load_package(encodings)
    match format:
        case DocumentFormat.TEXT:
            from gateway.uploads.text_reading import read_text

            return lambda content: read_text(content, charset)
        case DocumentFormat.MARKDOWN:
            from gateway.uploads.text_reading import read_markdown

            return lambda content: read_markdown(content, charset)
        case DocumentFormat.HTML:
            from gateway.uploads.html_document import read_html

            return lambda content: read_html(content, charset)
        case DocumentFormat.PDF:
            import pypdf

            from gateway.uploads.pdf_reading import read_pdf

            _load_package(pypdf)
            return lambda content: read_pdf(content, most)
        case DocumentFormat.DOCX:
            from gateway.uploads.docx_reading import read_docx

            return read_docx


def limit_process(cpu_seconds: int, memory: int) -> None:
    """Give up all that reading a file does not need. The limits cannot be raised again."""
    os.nice(10)
    limits = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_CPU: cpu_seconds,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_NPROC: 0,
        resource.RLIMIT_NOFILE: 0,
    }
    if sys.platform == "linux":  # elsewhere nothing keeps to it, and macOS refuses it
        limits[resource.RLIMIT_AS] = memory
    for kind, limit in limits.items():
        resource.setrlimit(kind, (limit, limit))


def read_file(read: ReadFile, content: bytes, most: int) -> dict[str, str]:
    """Read a file, whatever it does to its reader."""
    try:
        found = read(content)
        if not found.text.strip():
            raise UnreadableDocument(UnreadableReason.NO_TEXT)
        if len(found.text) > most:
            raise UnreadableDocument(UnreadableReason.TOO_LONG)
    except UnreadableDocument as error:
        return {"reason": error.reason.value}
    except (MemoryError, RecursionError):
        return {"reason": UnreadableReason.TOO_COMPLEX.value}
    except Exception:  # noqa: BLE001 - libraries raise anything for a damaged file, and its text may quote the file
        return {"reason": UnreadableReason.DAMAGED.value}
    return {"title": found.title[:MAX_TITLE_CHARS], "text": found.text}


def _load_package(package: ModuleType) -> None:
    """Load all modules of a package, of which some are loaded only when they are used."""
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        with contextlib.suppress(ImportError):  # what needs a library or a system that is not here
            importlib.import_module(found.name)


if __name__ == "__main__":
    main()
