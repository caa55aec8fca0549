"""The release of MCPist that runs."""

from functools import cache
from importlib.metadata import version


@cache
def get_release() -> str:
    """Return the version of the installed distribution, whose metadata is read once: that takes milliseconds."""
    return version("mcpist")
