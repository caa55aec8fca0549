"""Japanese titles of the modules and tools that come with MCPist: the console shows them, and searches know them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

TRANSLATIONS = Path(__file__).parent / "tool_titles.ja.json"


def load_translations() -> Mapping[str, Mapping[str, Any]]:
    """Load the Japanese titles, by module."""
    return orjson.loads(TRANSLATIONS.read_bytes())
