"""P12: calls on a database full of tenants, users and permissions beside an empty one.

One caller on either; and, on the full one, many callers of as many tenants, all of them cached.
"""

from dataclasses import replace

from tests.bench.client import Client, tools_call
from tests.bench.github import asking
from tests.bench.lab import Lab, Product
from tests.bench.population import populate
from tests.bench.report import Result, Row
from tests.bench.rounds import compared, cpu, interleaved, rate

CALLERS = 1000
TEXT = "hello-tenants"


def measure(lab: Lab) -> list[Result]:
    """Two products beside each other; only one is loaded at a time."""
    empty, full = lab.new_product("empty"), lab.new_product("full")
    tenants = lab.options.tenants
    lab.progress(f"making {tenants} tenants of 100 users, with 100 permissions each")
    tokens = populate(full, tenants, 20 if lab.options.quick else CALLERS)
    for token in tokens:
        _first_call(full, token)
    request = lab.request(tools_call("call", asking(TEXT)), TEXT, empty.token)
    targets = [
        lab.of_product("full database, one caller", replace(request, tokens=tokens[:1]), full),
        lab.of_product(f"full database, {len(tokens)} callers", replace(request, tokens=tokens), full),
        lab.of_product("empty database", request, empty),
    ]
    many = 16
    rounds = interleaved(targets, (many,), lab.options, lab.progress)
    size = f"{tenants} tenants × 100 users × 100 permissions"
    rows = (
        Row(
            "P12",
            f"call with {size}, req/s relative to an empty database",
            "x",
            compared(rounds, many, rate),
            0.9,
            0.97,
        ),
        Row("P12", f"the same with {len(tokens)} callers in turn", "x", compared(rounds, many, rate, of=1), 0.9, 0.97),
        Row("P12", "CPU a call, full relative to empty", "x", compared(rounds, many, cpu)),
        Row("P12", f"CPU a call with {len(tokens)} callers, relative to empty", "x", compared(rounds, many, cpu, of=1)),
    )
    return [Result(rows, tuple(one for samples in rounds for one in samples))]


def _first_call(product: Product, token: str) -> None:
    """Verify a credential, read its policy, lease: done once in five minutes, and not what is measured."""
    client = Client(product.port, token)
    client.tool("call", asking(TEXT))
    client.close()
