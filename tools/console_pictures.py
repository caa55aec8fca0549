"""Bring the pictures that the documents show from those that the tests of the console took, and make them small."""

import re
import sys

from tools.console import ROOT
from tools.png import shrink

SOURCE = ROOT / "build" / "screenshots" / "console"
TARGET = ROOT / "docs" / "images"


def named_pictures() -> list[str]:
    """The pictures that pages of the documents and the README show, without `.png`."""
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    found = (re.findall(r"!\[[^\]]*\]\([./a-z]*images/([a-z0-9-]+)\.png\)", page.read_text("utf-8")) for page in pages)
    return sorted({name for names in found for name in names})


def main() -> int:
    """Bring each picture, and remove those that no page shows; return the exit status, 1 where one was not taken."""
    names = named_pictures()
    missing = [name for name in names if not (SOURCE / f"{name}.png").exists()]
    if missing:
        hint = "run make test and make test-long with T=tests/console"
        print(f"not taken yet: {', '.join(missing)}; {hint}", file=sys.stderr)
        return 1
    TARGET.mkdir(exist_ok=True)
    for old in TARGET.glob("*.png"):
        if old.stem not in names:
            old.unlink()
    for name in names:
        (TARGET / f"{name}.png").write_bytes(shrink((SOURCE / f"{name}.png").read_bytes()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
