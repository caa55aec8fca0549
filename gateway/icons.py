"""Icons as clients get them ([2025-11-25] Icons): as data, so that they need no address that a client can reach, and
tell nobody which modules are installed."""

import base64
from functools import cache
from typing import Any

from modules.kit import Icon

MCPIST_ICON = Icon("#1d4fd8", "M6 17V8l6 7 6-7v9")


@cache
def build_icons(icon: Icon | None) -> dict[str, Any]:
    """Build the field `icons` of whatever has this icon; nothing without one."""
    if icon is None:
        return {}
    data = base64.b64encode(icon.draw().encode()).decode()
    return {"icons": [{"src": f"data:image/svg+xml;base64,{data}", "mimeType": "image/svg+xml", "sizes": ["any"]}]}
