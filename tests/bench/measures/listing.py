"""P5: get_module_schema and tools/list beside bare Starlette that renders the very same results."""

import json

from tests.bench.client import rpc, tools_call
from tests.bench.lab import Lab
from tests.bench.report import Result, Row
from tests.bench.rounds import compared, cpu, interleaved, own_cpu, rate

CONNECTIONS = (1, 16)
SCHEMA = {"module": "knowledge_graph"}


def measure(lab: Lab) -> list[Result]:
    """Both methods, at 1 and 16 connections."""
    client = lab.product.client()
    schema = client.tool("get_module_schema", SCHEMA)
    listed = client.request("tools/list", {})
    client.close()
    results = lab.folder / "results.json"
    results.write_text(json.dumps({"get_module_schema": schema, "tools/list": listed}))
    bare = lab.reference("bare", results=results)
    requests = {
        "tools/list": lab.request(rpc("tools/list", {}), '"tools"'),
        "get_module_schema": lab.request(tools_call("get_module_schema", SCHEMA), "create_entities"),
    }
    found: list[Result] = []
    for name, request in list(requests.items())[: 1 if lab.options.quick else 2]:
        targets = [lab.of_product(name, request), lab.of_reference(f"bare Starlette, {name}", request, bare)]
        connections = CONNECTIONS[-1:] if lab.options.quick else CONNECTIONS
        rounds = interleaved(targets, connections, lab.options, lab.progress)
        rows = [
            Row("P5", f"{name}, req/s relative to bare Starlette, {many} connections", "x", ratios, 0.4, 0.7)
            for many in connections
            if (ratios := compared(rounds, many, rate))
        ]
        most = max(connections)
        rows.append(Row("P5", f"{name}, CPU a request", "µs", compared(rounds, most, own_cpu)))
        rows.append(Row("P5", f"{name}, CPU relative to bare Starlette", "x", compared(rounds, most, cpu)))
        found.append(Result(tuple(rows), tuple(one for samples in rounds for one in samples)))
    return found
