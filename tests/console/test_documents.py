"""What the documents of the console call a button, a field or a tab is what the page calls it."""

import re
from collections.abc import Iterator

from tools import console

EMPHASIS = re.compile(r"\*\*([^*\n]+)\*\*|(?<!\*)\*([^*\n]+)\*(?!\*)")
PICTURE = re.compile(r"!\[[^\]]*\]\([^)]*\)")


def _list_labels() -> Iterator[tuple[str, str]]:
    for file in sorted((console.ROOT / "docs" / "console").glob("*.md")):
        for bold, italic in EMPHASIS.findall(PICTURE.sub("", file.read_text("utf-8"))):
            yield file.name, bold or italic


def test_every_label_that_the_documents_name_is_shown() -> None:
    texts = [file.read_text("utf-8") for file in (console.SOURCES / "src" / "messages" / "en").glob("*.ts")]
    texts.append((console.ROOT / "broker" / "web" / "locales" / "en.json").read_text("utf-8"))
    shown = "\n".join(texts).casefold().replace("’", "'")
    labels = list(_list_labels())
    assert len(labels) > 80, "the documents are written otherwise: read them so"
    assert [(file, label) for file, label in labels if label.casefold() not in shown] == []
