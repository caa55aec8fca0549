"""P8: memory of the gateway's worker (without its database) at the start and after many calls."""

from tests.bench.client import tools_call
from tests.bench.github import asking
from tests.bench.lab import Lab
from tests.bench.processes import pss_mib, trees, wait_until_idle
from tests.bench.report import Result, Row
from tests.bench.wrk import sample

CHUNK_SECONDS = 20
TEXT = "hello-memory"


def measure(lab: Lab) -> list[Result]:
    """On a product of its own: a first call, then all of them."""
    product = lab.new_product("memory")
    client = product.client()
    client.tool("call", asking(TEXT))
    client.close()
    wait_until_idle([product.pid], 10)
    idle, tree = pss_mib([product.pid]), pss_mib(trees([product.pid]))
    request = lab.request(tools_call("call", asking(TEXT)), TEXT, product.token)
    target = lab.of_product("call github", request, product)
    done = 0
    while done < lab.options.calls:
        done += sample(target, 16, 1 if lab.options.quick else CHUNK_SECONDS).calls
        lab.progress(f"{done} calls: {pss_mib([product.pid]):.1f} MiB")
    wait_until_idle([product.pid], 60)
    added = pss_mib([product.pid]) - idle
    return [
        Result(
            (
                Row("P8", "PSS of the gateway's worker, idle", "MiB", (idle,), 150, 100, more_is_better=False),
                Row("P8", f"PSS added by {done} calls", "MiB", (added,), 10, 2, more_is_better=False),
                Row("P8", "PSS of the whole product with its database, idle", "MiB", (tree,)),
            )
        )
    ]
