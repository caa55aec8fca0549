"""Names of tools in the plain view: unique in a catalogue, at most 64 of ``A-Za-z0-9_-``, which every model provider
takes."""

import hashlib
import re
from collections.abc import Iterable, Mapping

from gateway.catalogue import CatalogueTool

MAX_NAME_LENGTH = 64
RESERVED = frozenset({"get_module_schema", "call", "batch"})
_DIGEST_LENGTH = 8
_REFUSED = re.compile(r"\A(?=[0-9-])|[^A-Za-z0-9_-]")


def assign_plain_names(tools: Iterable[CatalogueTool]) -> Mapping[CatalogueTool, str]:
    """Assign every tool its name: its first alias, which is its name in documents of other products, else the names of
    module and tool. What is taken already, too long, or of other characters ends with a digest. A name depends on what
    is installed and never on who asks."""
    names: dict[CatalogueTool, str] = {}
    taken = set(RESERVED)
    for tool in tools:
        full = f"{tool.module}_{tool.name}"
        wanted = next((name for name in (*tool.tool.aliases[:1], full) if _is_free(name, taken)), None)
        name = wanted or _add_digest(_REFUSED.sub("_", full), tool.full_name)
        taken.add(name)
        names[tool] = name
    return names


def _is_free(name: str, taken: set[str]) -> bool:
    return len(name) <= MAX_NAME_LENGTH and name not in taken and _REFUSED.search(name) is None


def _add_digest(name: str, identity: str) -> str:
    digest = hashlib.sha256(identity.encode()).hexdigest()[:_DIGEST_LENGTH]
    return f"{name[: MAX_NAME_LENGTH - _DIGEST_LENGTH - 1]}_{digest}"
