"""The official conformance suite against the gateway: one run a revision, every check accounted for."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clients.conformance_expectations import APPLICABLE, NOT_APPLICABLE, Expected
from tests.clients.story import Gateway
from tests.support.auth_proxy import auth_proxy
from tests.support.node import package_file, run_node

Checks = list[dict[str, Any]]

SCENARIO_MILLISECONDS = "10000"
RESULT_FOLDER = re.compile(r"server-(?P<scenario>.+)-\d{4}-\d\d-\d\dT[\d-]+Z")


@pytest.mark.usefixtures("node_packages")
@pytest.mark.parametrize("revision", APPLICABLE)
async def test_every_check_ends_as_expected(gateway: Gateway, revision: str, tmp_path: Path) -> None:
    script = package_file("@modelcontextprotocol/conformance", "dist/index.js")
    options = ["--suite", "all", "--spec-version", revision, "--timeout", SCENARIO_MILLISECONDS]
    async with auth_proxy(gateway.mcp_url, gateway.token) as url:
        run = await run_node(script, "server", "--url", url, *options, "-o", "out", home=tmp_path, timeout=100)
    # The exit code says only that some scenario failed, which those that do not apply always do.
    results = _read_results(tmp_path / "out")
    assert results, run
    differences = list(_differences(APPLICABLE[revision], results))
    assert not differences, "\n" + "\n".join(differences)


def _read_results(folder: Path) -> dict[str, Checks]:
    results: dict[str, Checks] = {}
    for file in sorted(folder.glob("*/checks.json")):
        name = RESULT_FOLDER.fullmatch(file.parent.name)
        assert name is not None, f"the suite names its folders differently now: {file.parent.name}"
        results[name["scenario"]] = json.loads(file.read_text(encoding="utf-8"))
    return results


def _differences(applicable: dict[str, Expected], results: dict[str, Checks]) -> Iterator[str]:
    yield from (f"{scenario}: did not run" for scenario in applicable.keys() - results.keys())
    for scenario, checks in results.items():
        if (expected := applicable.get(scenario)) is not None:
            yield from (f"{scenario}: {text}" for text in _compare(expected, checks))
        elif scenario.startswith(tuple(NOT_APPLICABLE)):
            schema_checks = [check for check in checks if check["id"].startswith("wire-schema-")]
            yield from (f"{scenario}: {_told(check)}" for check in schema_checks if check["status"] != "SUCCESS")
        else:
            yield f"{scenario}: a new scenario; decide whether it applies to us"


def _compare(expected: Expected, checks: Checks) -> Iterator[str]:
    passed = [check for check in checks if check["status"] == "SUCCESS"]
    unmet = {check["id"]: check for check in checks if check["status"] != "SUCCESS"}
    if len(passed) != expected.passed:
        yield f"{len(passed)} checks passed instead of {expected.passed}: {[check['id'] for check in passed]}"
    for id, check in unmet.items():
        if id not in expected.unmet or check["status"] != expected.unmet[id].status:
            yield _told(check)
    for id in expected.unmet.keys() - unmet.keys():
        yield f"{id} is listed as unmet and is not ({expected.unmet[id].reason})"


def _told(check: dict[str, Any]) -> str:
    return f"{check['status']} {check['id']}: {check.get('errorMessage') or check.get('details')}"
