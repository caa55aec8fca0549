"""The official conformance tool: what each revision requires, and what is run beside it, check by check."""

import json
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
import yaml

from tests.conformance.deployment import ConformanceDeployment, running_conformance_deployment
from tests.conformance.expectations import ANSWERING, EXPECTED_FAILURES, UNMET
from tests.conformance.oracle import running_oracle
from tests.support.auth_proxy import ProxiedExchange, auth_proxy
from tests.support.node import package_file, require_node_packages, run_node

Checks = list[dict[str, Any]]

PACKAGE = "@modelcontextprotocol/conformance"
SECONDS = 200
RESULT_FOLDER = re.compile(r"server-(?P<scenario>.+)-\d{4}-\d\d-\d\dT[\d-]+Z")
SCHEMA_CHECK = "wire-schema-"
"""Of the form of all messages: it passes where nothing else does."""


@dataclass(frozen=True, slots=True)
class ToolRun:
    """What the tool has found, and what it has sent and was answered."""

    results: Mapping[str, Checks]
    exchanges: list[ProxiedExchange]
    told: str


class ToolRuns:
    """Runs of the tool against one product, one for each revision, at its first use."""

    def __init__(self, deployment: ConformanceDeployment, folder: Path) -> None:
        self.deployment = deployment
        self._folder = folder
        self._runs: dict[str, ToolRun] = {}

    async def get(self, revision: str) -> ToolRun:
        if revision not in self._runs:
            self._runs[revision] = await self._run(revision)
        return self._runs[revision]

    async def _run(self, revision: str) -> ToolRun:
        home, exchanges = self._folder / revision, list[ProxiedExchange]()
        home.mkdir()
        async with auth_proxy(self.deployment.mcp_url, self.deployment.token, exchanges) as url:
            options = ["--url", url, "--requirements", revision, "-o", "out"]
            script = package_file(PACKAGE, "dist/index.js")
            run = await run_node(script, "server", *options, home=home, timeout=SECONDS)
        return ToolRun(_read_results(home / "out"), exchanges, str(run))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def runs(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ToolRuns]:
    require_node_packages()
    site = tmp_path_factory.mktemp("packages") / "site"
    async with running_conformance_deployment(site) as deployment:
        yield ToolRuns(deployment, tmp_path_factory.mktemp("runs"))


@pytest.mark.timeout(400)
@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("revision", EXPECTED_FAILURES)
async def test_what_a_revision_requires_passes(runs: ToolRuns, revision: str) -> None:
    run = await runs.get(revision)
    assert run.results, run.told
    required, beside = _read_requirements(revision)
    problems = [*_find_problems(revision, run.results, required, beside)]
    problems += await _find_unreached(runs.deployment, revision)
    assert not problems, "\n" + "\n".join(problems)


@pytest.mark.timeout(400)
@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("revision", EXPECTED_FAILURES)
async def test_the_sdk_answers_every_message_alike(runs: ToolRuns, revision: str) -> None:
    exchanges = (await runs.get(revision)).exchanges
    async with running_oracle() as oracle:
        differences = [one async for one in oracle.find_differences(revision, exchanges)]
    assert not differences, "\n" + "\n".join(differences)


def test_the_lists_are_of_what_there_is() -> None:
    for revision, failures in EXPECTED_FAILURES.items():
        required, beside = _read_requirements(revision)
        assert failures.keys() <= required
        listed = {scenario for of_revision, scenario, _ in UNMET if of_revision == revision}
        assert listed <= required | beside
        assert (len(required), len(failures)) == ((30, 6) if revision == "2025-11-25" else (37, 0))


def _read_requirements(revision: str) -> tuple[set[str], set[str]]:
    """The scenarios of servers that a revision requires, and those that are run beside them."""
    require_node_packages()
    document = yaml.safe_load(package_file(PACKAGE, f"requirements/{revision}.yaml").read_text("utf-8"))
    beside = [one["scenario"] for one in document["not_scored"]]
    return set(document["server"]), set(beside)


def _read_results(folder: Path) -> dict[str, Checks]:
    results: dict[str, Checks] = {}
    for file in sorted(folder.glob("*/checks.json")):
        name = RESULT_FOLDER.fullmatch(file.parent.name)
        assert name is not None, f"the suite names its folders differently now: {file.parent.name}"
        results[name["scenario"]] = json.loads(file.read_text(encoding="utf-8"))
    return results


def _find_problems(revision: str, results: Mapping[str, Checks], required: set[str], beside: set[str]) -> Iterator[str]:
    yield from (f"{scenario}: did not run" for scenario in sorted(required - results.keys()))
    for scenario, checks in results.items():
        if scenario not in required | beside:
            yield f"{scenario}: a new scenario; decide what becomes of it"
        elif scenario in EXPECTED_FAILURES[revision]:
            yield from (f"{scenario}: {text}" for text in _check_expected_failure(checks))
        else:
            yield from (f"{scenario}: {text}" for text in _check_passed(revision, scenario, checks))


def _check_expected_failure(checks: Checks) -> Iterator[str]:
    """It fails, in well-formed messages."""
    yield from (_tell(one) for one in checks if one["id"].startswith(SCHEMA_CHECK) and one["status"] != "SUCCESS")
    if all(one["status"] == "SUCCESS" for one in checks):
        yield "passes, and is expected to fail"


def _check_passed(revision: str, scenario: str, checks: Checks) -> Iterator[str]:
    unmet = {one["id"] for one in checks if one["status"] != "SUCCESS"}
    known = {check for of_revision, of_scenario, check in UNMET if (of_revision, of_scenario) == (revision, scenario)}
    yield from (_tell(one) for one in checks if one["id"] in unmet - known)
    yield from (f"{check} passes, and is listed: {UNMET[revision, scenario, check]}" for check in known - unmet)
    if not known and not any(one["status"] == "SUCCESS" and not one["id"].startswith(SCHEMA_CHECK) for one in checks):
        yield "nothing was checked but the form of the messages"


async def _find_unreached(deployment: ConformanceDeployment, revision: str) -> list[str]:
    """The tools, resources and prompts whose scenarios have passed although they never ran."""
    seen = await deployment.list_outcomes()
    return [
        f"{name}: never ended with {outcome}"
        for name, outcome in ANSWERING[revision].items()
        if (name, outcome) not in seen
    ]


def _tell(check: dict[str, Any]) -> str:
    return f"{check['status']} {check['id']}: {check.get('errorMessage') or check.get('details')}"
