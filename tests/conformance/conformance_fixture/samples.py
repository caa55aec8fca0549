"""The smallest files there are, and the hints and scopes of the tools."""

import base64

from modules.kit import Hints

READS = Hints(read_only=True, destructive=False, idempotent=True, open_world=False)
WRITES = Hints(read_only=False, destructive=False, idempotent=False, open_world=False)
READ, WRITE = ("test:read",), ("test:write",)

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
)
"""One red pixel."""
WAV = base64.b64decode("UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=")
"""No sound."""
PAUSE_SECONDS = 0.12
"""Between two reports: longer than what the gateway waits between two of them."""
