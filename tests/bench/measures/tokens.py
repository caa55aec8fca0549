"""P10: what a client loads at start, in o200k tokens of compact JSON, for few tools and for very many."""

import json
import warnings
from collections.abc import Sequence
from uuid import UUID

import orjson

from core.caller import Caller, Credential
from core.permissions import Policy, build_role
from gateway.catalogue import build_catalogue, load_installed_modules
from gateway.meta_tools.definitions import build_definitions, build_instructions
from gateway.sieve.sieve import Sieve
from modules.kit import Module
from tests.bench.lab import Lab
from tests.bench.report import Result, Row
from tests.bench.toys import filling

NIL = UUID(int=0)
# What is behind the gateway, in how many made-up modules, of how many tools each.
OWN = "the product's own modules"
TWELVE, TEN_THOUSAND = "12 modules of one tool", "12 modules of 834 tools, 10,000 in all"
CASES = {
    OWN: (0, 0),
    "10 tools in one module": (1, 10),
    TWELVE: (12, 1),
    TEN_THOUSAND: (12, 834),
    "1,000 modules of 10 tools": (1000, 10),
}


def measure(lab: Lab) -> list[Result]:
    """The definitions and the instructions as the handlers make them."""
    counts = {
        what: tokens(load_installed_modules().modules if what == OWN else filling(*size))
        for what, size in CASES.items()
    }
    rows = [
        Row("P10", f"tools/list and instructions, {what}", "tokens", (float(count),), 900, 600, more_is_better=False)
        for what, count in counts.items()
    ]
    more = float(counts[TEN_THOUSAND] - counts[TWELVE])
    rows.append(Row("P10", "the same 12 modules, 10,000 tools less 12", "tokens", (more,), 0, 0, more_is_better=False))
    return [Result(tuple(rows))]


def tokens(modules: Sequence[Module]) -> int:
    """The tokens of instructions and definitions for a caller who may use all of these modules."""
    everything = Policy((build_role("all", [("allow", "*")]),), frozenset(module.name for module in modules))
    credential = Credential("bench", "api_token", NIL, NIL, frozenset({"mcp:read", "mcp:write"}))
    view = Sieve(build_catalogue(modules)).get_view(Caller(credential, "bench@localhost", "user", everything))
    return count(build_definitions(view, has_tasks=True)["tools"]) + count(build_instructions(view))


def count(value: object) -> int:
    """o200k tokens of a value as compact JSON."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of its own use of importlib.resources
        import bpe_openai
    text = json.dumps(orjson.loads(orjson.dumps(value)), separators=(",", ":"), ensure_ascii=False)
    return len(list(bpe_openai.get_encoding("o200k_base").encode(text)))
