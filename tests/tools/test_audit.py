"""The audit of known vulnerabilities, against a database of OSV's kind on loopback."""

import datetime
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tools.audit import ACCEPTED, JUDGED_FOR, Package, Unusable, audit, judgements, node_packages, packages
from tools.locked import ROOT, read_locked

AIOHTTP = Package("PyPI", "aiohttp", "3.0.0", "the product")
HONO = Package("npm", "hono", "1.0.0", "tests and tools")
TODAY = datetime.datetime.now(datetime.UTC).date()


@dataclass
class Osv:
    """What is known, by (ecosystem, name, version), in pages of two. `status` is its answer to everything, if set; a
    `short` one leaves the last package out."""

    known: dict[tuple[str, str, str], list[str]] = field(default_factory=dict)
    told: dict[str, dict[str, Any]] = field(default_factory=dict)
    asked: list[tuple[str, str, str]] = field(default_factory=list)
    status: int | None = None
    short: bool = False
    url: str = ""

    def result(self, query: dict[str, Any]) -> dict[str, Any]:
        package = query["package"]
        name = (package["ecosystem"], package["name"], query["version"])
        start = int(query.get("page_token", 0))
        if not start:
            self.asked.append(name)
        ids = self.known.get(name, [])
        page = {"vulns": [{"id": one} for one in ids[start : start + 2]]} if ids else {}
        return {**page, "next_page_token": str(start + 2)} if len(ids) > start + 2 else page


@pytest.fixture
def osv() -> Iterator[Osv]:
    made = Osv()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            results = [made.result(query) for query in asked["queries"]]
            self.answer({"results": results[:-1] if made.short else results})

        def do_GET(self) -> None:
            name = self.path.rpartition("/")[2]
            self.answer({"id": name, "summary": f"About {name}", **made.told.get(name, {})})

        def answer(self, document: Any) -> None:
            body = json.dumps(document).encode()
            self.send_response(made.status or 200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        made.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield made
        server.shutdown()
        thread.join()


@pytest.fixture
def accepted(tmp_path: Path) -> Path:
    path = tmp_path / "accepted.toml"
    path.write_text("")
    return path


def judged(path: Path, **changes: Any) -> None:
    entry = {"id": "CVE-2026-1", "package": "aiohttp", "reason": "The part that it is in is never imported.", **changes}
    day = entry.pop("date", TODAY)
    lines = [f'{name} = "{value}"' for name, value in entry.items() if value is not None]
    path.write_text("\n".join(["[[accepted]]", *lines, f"date = {day}", ""]))


def run(osv: Osv, accepted: Path, *, required: bool = False) -> int:
    return audit([AIOHTTP, HONO], osv.url, accepted, required=required, today=TODAY)


def test_nothing_known(osv: Osv, accepted: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(osv, accepted) == 0
    assert "2 locked packages audited, 0 known vulnerabilities" in capsys.readouterr().err
    assert osv.asked == [("PyPI", "aiohttp", "3.0.0"), ("npm", "hono", "1.0.0")]


@pytest.mark.parametrize("package", [AIOHTTP, HONO])
def test_a_known_vulnerability_fails(
    osv: Osv, accepted: Path, capsys: pytest.CaptureFixture[str], package: Package
) -> None:
    osv.known[package.ecosystem, package.name, package.version] = ["GHSA-1"]
    osv.told["GHSA-1"] = {"aliases": ["CVE-2026-1"]}
    assert run(osv, accepted) == 1
    told = capsys.readouterr().err
    assert f"{package.name} {package.version} (in {package.where}): GHSA-1, CVE-2026-1: About GHSA-1" in told


def test_every_page_is_read(osv: Osv, accepted: Path, capsys: pytest.CaptureFixture[str]) -> None:
    osv.known["PyPI", "aiohttp", "3.0.0"] = [f"GHSA-{number}" for number in range(5)]
    assert run(osv, accepted) == 1
    assert "5 known vulnerabilities" in capsys.readouterr().err


def test_what_was_withdrawn_is_none(osv: Osv, accepted: Path) -> None:
    osv.known["PyPI", "aiohttp", "3.0.0"] = ["GHSA-1"]
    osv.told["GHSA-1"] = {"withdrawn": "2026-01-01T00:00:00Z"}
    assert run(osv, accepted) == 0


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({}, 0),
        ({"id": "GHSA-1"}, 0),
        ({"date": TODAY - JUDGED_FOR}, 0),
        ({"date": TODAY - JUDGED_FOR - datetime.timedelta(days=1)}, 1),
        ({"id": "CVE-2026-2"}, 1),
        ({"package": "hono"}, 1),
        ({"date": TODAY + datetime.timedelta(days=1)}, 2),
        ({"reason": "no"}, 2),
        ({"reason": None}, 2),
        ({"why": "x"}, 2),
    ],
)
def test_what_was_judged_to_be_irrelevant(osv: Osv, accepted: Path, changes: dict[str, Any], code: int) -> None:
    osv.known["PyPI", "aiohttp", "3.0.0"] = ["GHSA-1"]
    osv.told["GHSA-1"] = {"aliases": ["CVE-2026-1"]}
    judged(accepted, **changes)
    assert run(osv, accepted) == code


def test_a_judgement_of_what_is_not_found_any_more_is_told(
    osv: Osv, accepted: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    judged(accepted)
    assert run(osv, accepted) == 0
    assert "CVE-2026-1 of aiohttp is not found any more" in capsys.readouterr().err


@pytest.mark.parametrize(("required", "code"), [(False, 0), (True, 1)])
@pytest.mark.parametrize("how", ["nobody listens", "405", "500"])
def test_a_database_out_of_reach_is_said_plainly(
    osv: Osv, accepted: Path, capsys: pytest.CaptureFixture[str], how: str, required: bool, code: int
) -> None:
    osv.status = int(how) if how.isdigit() else None
    osv.url = osv.url if osv.status else "http://127.0.0.1:1"
    assert run(osv, accepted, required=required) == code
    assert "NOTHING WAS AUDITED" in capsys.readouterr().err


def test_a_question_that_is_not_understood_is_a_fault_of_ours(osv: Osv, accepted: Path) -> None:
    osv.status = 400
    assert run(osv, accepted) == 2


def test_a_database_that_leaves_a_package_out_is_not_believed(osv: Osv, accepted: Path) -> None:
    osv.short = True
    assert run(osv, accepted) == 2


def test_every_locked_package_is_asked_for() -> None:
    asked = packages()
    python = {(one.name, one.version) for one in asked if one.ecosystem == "PyPI"}
    for name in ("runtime", "build", "dev"):
        assert {(one.name, one.version) for one in read_locked(name)} <= python
    assert {one.name for one in asked if one.where == "the product"} == {one.name for one in read_locked("runtime")}
    assert {one.name for one in asked if one.ecosystem == "npm"} >= {"oidc-provider", "@modelcontextprotocol/sdk"}


def test_a_package_under_another_name_and_one_that_stands_twice() -> None:
    lock = {
        "packages": {
            "": {"name": "ours"},
            "node_modules/a": {"version": "1.0.0"},
            "node_modules/b/node_modules/a": {"version": "1.0.0"},
            "node_modules/c/node_modules/a": {"version": "2.0.0"},
            "node_modules/alias": {"name": "@scope/real", "version": "3.0.0"},
        }
    }
    assert [(one.name, one.version) for one in node_packages(lock)] == [
        ("a", "1.0.0"),
        ("a", "2.0.0"),
        ("@scope/real", "3.0.0"),
    ]


def test_the_list_of_judgements_is_in_order() -> None:
    assert isinstance(judgements(ACCEPTED, TODAY), list)


@pytest.mark.parametrize("text", [None, "[[accepted]", "\xff"])
def test_a_list_that_cannot_be_read_fails(osv: Osv, accepted: Path, text: str | None) -> None:
    accepted.unlink() if text is None else accepted.write_bytes(text.encode("latin-1"))
    with pytest.raises(Unusable, match="cannot be read"):
        judgements(accepted, TODAY)
    assert run(osv, accepted) == 2


def test_the_command(osv: Osv) -> None:
    version = next(one.version for one in read_locked("runtime") if one.name == "aiohttp")
    osv.known["PyPI", "aiohttp", version] = ["GHSA-1"]
    command = [sys.executable, "-m", "tools.audit", "--database", osv.url]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert f"aiohttp {version} (in the product): GHSA-1" in ran.stderr
