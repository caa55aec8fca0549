"""The walk misses no header that the product reads."""

import re

from tests.linear.patterns import source_files
from tests.stalls.requests import HEADERS

READERS = (
    r"""headers\.get\(\s*b?["']([A-Za-z-]+)["']""",
    r"""headers\[b?["']([A-Za-z-]+)["']\](?! =)""",
    r"""\.getlist\(\s*["']([A-Za-z-]+)["']""",
    r"""\.getall\(\s*["']([A-Za-z-]+)["']""",
    r"""\.text\(\s*b["']([A-Za-z-]+)["']""",
    r"""headers\.values\.get\(\s*b["']([A-Za-z-]+)["']""",
    r"""alias=["']([A-Za-z]+-[A-Za-z-]+)["']""",
)
OF_VENDORS = {
    "age", "cache-control", "content-encoding", "content-range", "date", "link", "location", "ratelimit-reason",
    "retry-after",
}  # fmt: skip
"""Read in the answers of others: tests/stalls/test_vendor_answers.py."""


def test_every_header_that_is_read_is_tried() -> None:
    found = {
        name.lower()
        for path in source_files()
        if path.parts[-3:-1] != ("cli", "remote")
        for pattern in READERS
        for name in re.findall(pattern, path.read_text(encoding="utf-8"))
    }
    assert len(found) > 10
    assert {name for name in found if not name.startswith("x-ratelimit")} - set(HEADERS) - OF_VENDORS == set()
