"""Prometheus rules and the Grafana dashboard: their own tools accept them, and what they name exists."""

import contextlib
import io
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from cli.app import run_command

ROOT = Path(__file__).parents[2]
RULES, RULES_TEST = ROOT / "deploy/prometheus/rules.yaml", ROOT / "deploy/prometheus/rules_test.yaml"
DASHBOARD = ROOT / "deploy/grafana/mcpist.json"
METRIC = re.compile(r"mcpist_[a-z_]+")
BUILT_IN = re.compile(r"_bucket$|_sum$|_count$")


def documented_metrics() -> set[str]:
    page = (ROOT / "docs/operations.md").read_text(encoding="utf-8")
    return set(re.findall(r"^\| `(mcpist_\w+)` \|", page, re.MULTILINE))


def alerts() -> list[dict[str, Any]]:
    return [rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]


def expressions() -> list[str]:
    panels = json.loads(DASHBOARD.read_text())["panels"]
    return [target["expr"] for panel in panels for target in panel.get("targets", ())]


def named_metrics(expression: str) -> set[str]:
    return {BUILT_IN.sub("", name) for name in METRIC.findall(expression)}


@pytest.mark.parametrize("rule", alerts(), ids=lambda rule: rule["alert"])
def test_an_alert_asks_for_metrics_that_exist_and_has_a_page(rule: dict[str, Any]) -> None:
    assert named_metrics(rule["expr"]) <= documented_metrics()
    assert rule["labels"]["severity"] in ("critical", "warning")
    assert rule["annotations"]["summary"]
    assert rule["annotations"]["runbook_url"] == f"docs/runbook.md#{rule['alert'].lower()}"


def test_the_runbook_has_an_entry_for_each_alert_and_no_other() -> None:
    page = (ROOT / "docs/runbook.md").read_text(encoding="utf-8")
    entries = re.split(r"^### (Mcpist\w+)$", page, flags=re.MULTILINE)
    found = dict(zip(entries[1::2], entries[2::2], strict=True))
    assert set(found) == {rule["alert"] for rule in alerts()}
    for name, text in found.items():
        for part in ("**Means.**", "**See.**", "**Do.**"):
            assert part in text, (name, part)


def test_each_alert_is_brought_about_and_ended_on_a_running_deployment() -> None:
    tests = "".join(path.read_text() for path in Path(__file__).parent.glob("test_alerts_of_*.py"))
    for verb in ("begins", "ends"):
        found = set(re.findall(rf'\.{verb}\("(Mcpist\w+)"', tests))
        assert found == {rule["alert"] for rule in alerts()}, verb


def test_the_runbook_names_commands_and_events_that_exist() -> None:
    page = (ROOT / "docs/runbook.md").read_text(encoding="utf-8")
    for command in set(re.findall(r"`mcpist ([a-z -]+?)(?: -|`)", page)):
        with contextlib.redirect_stdout(io.StringIO()):
            assert run_command([*command.split(), "--help"]) == 0, command
    sources = "".join(path.read_text() for part in ("broker", "core", "server") for path in (ROOT / part).rglob("*.py"))
    for event in re.findall(r"`event: (\w+)`", page):
        assert f'"event": "{event}"' in sources, event


def test_the_rules_fire_as_their_own_test_says() -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is missing: install Debian's prometheus")
    for arguments in (["check", "rules", str(RULES)], ["test", "rules", str(RULES_TEST)]):
        done = subprocess.run([promtool, *arguments], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    firing = re.search(
        r"eval_time: 80m, exp_samples: \[\{labels: '\{\}', value: (\d+)\}\]\}\s*$", RULES_TEST.read_text()
    )
    assert firing
    assert int(firing[1]) == len(alerts()), "each alert is brought about"


def test_the_dashboard_shows_metrics_that_exist() -> None:
    document = json.loads(DASHBOARD.read_text())
    ids = [panel["id"] for panel in document["panels"]]
    assert len(ids) == len(set(ids))
    named: set[str] = set()
    for expression in expressions():
        assert named_metrics(expression) <= documented_metrics(), expression
        named |= named_metrics(expression)
    assert (
        not documented_metrics() - named - {"mcpist_build_info", "mcpist_limited_callers", "mcpist_deployment_is_copy"}
    )
    places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in document["panels"]]
    assert len(places) == len(set(places))
    assert all(panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24 for panel in document["panels"])
