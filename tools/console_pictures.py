"""Copy the pictures of the documents from those that `make test T=tests/console` took."""

import shutil
import sys

from tools.console import ROOT

SOURCE = ROOT / "build" / "screenshots" / "console"
TARGET = ROOT / "docs" / "images"
PICTURES = (
    "dashboard",
    "tools",
    "playground-result",
    "request-panel",
    "role-preset",
    "service-oauth",
    "logs",
    "tenant-remove",
    "identity-try",
)


def main() -> int:
    """Copy each picture; return the exit status, 1 where one was not taken."""
    missing = [name for name in PICTURES if not (SOURCE / f"{name}.png").exists()]
    if missing:
        print(f"not taken yet: {', '.join(missing)}; run make test T=tests/console", file=sys.stderr)
        return 1
    TARGET.mkdir(exist_ok=True)
    for name in PICTURES:
        shutil.copyfile(SOURCE / f"{name}.png", TARGET / f"{name}.png")
    return 0


if __name__ == "__main__":
    sys.exit(main())
