"""A real Prometheus with the product's own rules, so short that an alert begins and ends within seconds.

Every duration in the rules (``for``, ranges, offsets) is divided by the same number; thresholds and expressions stay.
"""

import asyncio
import contextlib
import re
import shutil
import tempfile
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml

from tests.support.eventually import within
from tests.support.running_product import free_port

RULES = Path(__file__).parents[2] / "deploy/prometheus/rules.yaml"
SCALE = 150
INTERVAL_SECONDS = 0.25
"""Between two scrapes, and between two looks at the rules. Five minutes become two seconds, so eight scrapes."""
BEGINS_WITHIN = ENDS_WITHIN = 60.0
_UNITS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_RANGE = re.compile(r"(?<=\[)(\d+)([smhd])(?=\])|(?<=offset )(\d+)([smhd])")
_FOR = re.compile(r"(\d+)([smhd])")


def scale_rules(text: str, scale: int, interval: float) -> str:
    """The rules with every duration divided by `scale`, looked at every `interval` seconds."""

    def shorten(match: re.Match[str]) -> str:
        number, unit = (part for part in match.groups() if part)
        return f"{max(1, int(number) * _UNITS[unit] // scale)}ms"

    document = yaml.safe_load(text)
    for group in document["groups"]:
        group["interval"] = f"{int(interval * 1000)}ms"
        for rule in group["rules"]:
            rule["expr"] = _RANGE.sub(shorten, rule["expr"])
            if "for" in rule:
                rule["for"] = _FOR.sub(shorten, rule["for"])
    return yaml.safe_dump(document)


@dataclass(frozen=True, slots=True)
class PrometheusServer:
    """It scrapes, and evaluates the rules."""

    url: str
    http: aiohttp.ClientSession

    async def query(self, expression: str) -> list[dict[str, Any]]:
        """The samples of an expression now."""
        async with self.http.get(f"{self.url}/api/v1/query", params={"query": expression}) as answer:
            document = await answer.json()
        assert document["status"] == "success", document
        return document["data"]["result"]

    async def list_alerts(self, state: str = "firing") -> dict[str, list[dict[str, str]]]:
        """The labels of the alerts in a state, by name."""
        found: dict[str, list[dict[str, str]]] = {}
        for one in await self.query(f'ALERTS{{alertstate="{state}"}}'):
            found.setdefault(one["metric"]["alertname"], []).append(one["metric"])
        return found

    async def begins(self, alert: str, **labels: str) -> None:
        """Wait until an alert fires, with these labels if any."""

        async def does_fire() -> bool:
            found = (await self.list_alerts()).get(alert, [])
            return any(labels.items() <= one.items() for one in found)

        await within(BEGINS_WITHIN, does_fire)

    async def ends(self, alert: str, seconds: float = ENDS_WITHIN) -> None:
        """Wait until an alert neither fires nor is about to."""

        async def is_over() -> bool:
            return alert not in await self.list_alerts() and alert not in await self.list_alerts("pending")

        await within(seconds, is_over)

    async def is_calm(self) -> None:
        """Wait until every process was scraped, and check that no alert fires."""

        async def are_scraped() -> bool:
            states = [one["value"][1] for one in await self.query("up")]
            return bool(states) and set(states) == {"1"}

        await within(BEGINS_WITHIN, are_scraped)
        assert await self.list_alerts() == {}


@contextlib.asynccontextmanager
async def running_prometheus(targets: Mapping[str, int], *, slow: bool = False) -> AsyncIterator[PrometheusServer]:
    """A Prometheus that scrapes the metrics ports of processes, by the name that their `instance` gets. A scrape has
    a quarter of a second, or where it is `slow`, a second: for a fault that a scrape waits for."""
    program = shutil.which("prometheus")
    if program is None:
        pytest.skip("NOT TRIED: prometheus is missing: install Debian's prometheus")
    scale, interval = (SCALE // 4, INTERVAL_SECONDS * 4) if slow else (SCALE, INTERVAL_SECONDS)
    with tempfile.TemporaryDirectory(prefix="mcpist-prometheus-") as name:
        folder, port = Path(name), free_port()
        (folder / "rules.yaml").write_text(scale_rules(RULES.read_text(encoding="utf-8"), scale, interval))
        (folder / "prometheus.yml").write_text(yaml.safe_dump(_build_configuration(targets, interval)))
        arguments = [f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data"]
        arguments += [f"--web.listen-address=127.0.0.1:{port}", "--log.level=warn"]
        with (folder / "log").open("wb") as log:
            process = await asyncio.create_subprocess_exec(program, *arguments, stdout=log, stderr=log)
        try:
            async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=10)) as http:
                server = PrometheusServer(f"http://127.0.0.1:{port}", http)
                await within(30, lambda: _is_ready(server))
                yield server
        finally:
            process.terminate()
            await process.wait()


def _build_configuration(targets: Mapping[str, int], interval: float) -> dict[str, Any]:
    seconds = f"{int(interval * 1000)}ms"
    jobs = [{"targets": [f"127.0.0.1:{port}"], "labels": {"instance": instance}} for instance, port in targets.items()]
    return {
        "global": {"scrape_interval": seconds, "scrape_timeout": seconds, "evaluation_interval": seconds},
        "rule_files": ["rules.yaml"],
        "scrape_configs": [{"job_name": "mcpist", "static_configs": jobs}],
    }


async def _is_ready(server: PrometheusServer) -> bool:
    with contextlib.suppress(aiohttp.ClientError):
        async with server.http.get(f"{server.url}/-/ready") as answer:
            return answer.status == 200
    return False
