"""What can be said of deploy/Dockerfile without building it. `make try-image` builds and starts it."""

import http.server
import re
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCKERFILE = ROOT / "deploy" / "Dockerfile"
HADOLINT = Path(sys.executable).with_name("hadolint")
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def instructions() -> list[str]:
    """The Dockerfile's instructions, one line each."""
    lines = [line for line in DOCKERFILE.read_text().splitlines() if line and not line.startswith("#")]
    return "\n".join(lines).replace("\\\n", " ").splitlines()


def test_hadolint_accepts_it() -> None:
    ended = subprocess.run([HADOLINT, "--failure-threshold", "style", DOCKERFILE], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout


def test_hadolint_would_say_so(tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text("FROM debian:latest\nRUN cd /tmp\n")
    assert subprocess.run([HADOLINT, tmp_path / "Dockerfile"], capture_output=True).returncode == 1


def test_every_stage_has_one_base_that_is_named_by_its_digest() -> None:
    bases = [line.split()[1] for line in instructions() if line.startswith("FROM ")]
    assert set(bases) == {"${BASE}"}
    (base,) = (line for line in instructions() if line.startswith("ARG BASE="))
    assert re.fullmatch(r"ARG BASE=\S+@sha256:[0-9a-f]{64}", base)


def test_it_ends_as_a_user_with_a_number_and_asks_for_its_own_health() -> None:
    last = instructions()[max(index for index, line in enumerate(instructions()) if line.startswith("FROM ")) :]
    assert "USER 10001:10001" in last
    assert any(line.startswith("HEALTHCHECK ") and '["mcpist-probe"]' in line for line in last)
    assert not [line for line in last if line.startswith("RUN ") and "apt" in line]


def test_every_package_of_the_wheel_is_copied_and_passes_dockerignore() -> None:
    copied = {line.split()[1] for line in instructions() if line.startswith("COPY ")}
    packages = {name.rstrip("*") for name in PYPROJECT["tool"]["setuptools"]["packages"]["find"]["include"]}
    admitted = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    assert packages | {"alembic"} <= copied
    sources = {name for line in instructions() if line.startswith("COPY ") for name in line.split()[1:-1]}
    for name in (name for name in sources if not name.startswith(("-", "/"))):
        assert (ROOT / name).exists(), name
        assert any(name == one or name.startswith(f"{one}/") for one in admitted), f"{name} is not in .dockerignore"


def test_the_image_says_the_version_of_the_product() -> None:
    assert f"ARG VERSION={PYPROJECT['project']['version']}" in instructions()


class _Answers(http.server.BaseHTTPRequestHandler):
    """503 at /readyz, 200 elsewhere."""

    def do_GET(self) -> None:
        self.send_response(503 if self.path == "/readyz" else 200)
        self.end_headers()
        self.wfile.write(f"asked for {self.path}".encode())

    def log_message(self, format: str, *arguments: object) -> None: ...


@pytest.fixture
def port() -> Iterator[int]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Answers) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


def probe(port: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {"MCPIST_HOST": "0.0.0.0", "MCPIST_PORT": str(port)}
    command = [sys.executable, "-I", str(ROOT / "deploy" / "probe.py"), *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=20)


def test_the_probe_tells_readiness_by_its_exit_code(port: int) -> None:
    unready, alive = probe(port), probe(port, "/healthz")
    assert (unready.returncode, unready.stdout) == (1, "asked for /readyz\n")
    assert (alive.returncode, alive.stdout) == (0, "asked for /healthz\n")


def test_the_probe_says_that_nothing_answers() -> None:
    ended = probe(1)
    assert ended.returncode == 1
    assert ended.stderr == "nothing answers on port 1: Connection refused\n"
