"""Write requirements/*.txt from pyproject.toml: every package pinned, every file's hash, no address of any index.

`make lock` keeps the pins that still fit; `make lock ARGS=--upgrade` moves all of them to the newest releases, and
`make lock ARGS='--upgrade-package NAME'` one.
"""

import hashlib
import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

from tools.locked import LOCKS, ROOT

MARK = "# Made by `make lock`; do not edit. Digest of what pyproject.toml asks for: "

# In this order: what is locked later keeps to the versions locked before.
WANTED = {
    "dev": ["pyproject.toml", "--group", "dev"],
    "runtime": ["pyproject.toml", "-c", "requirements/dev.txt"],
    "build": ["--group", "build", "-c", "requirements/dev.txt"],
    "helm": ["--group", "helm", "--no-deps"],
    "policy": ["--group", "policy"],
}


def digest(pyproject: dict[str, Any]) -> str:
    """The part of pyproject.toml that the locks depend on, as one short hash."""
    wanted = [
        pyproject["build-system"]["requires"],
        pyproject["project"]["requires-python"],
        pyproject["project"]["dependencies"],
        pyproject["dependency-groups"],
    ]
    return hashlib.sha256(json.dumps(wanted, sort_keys=True).encode()).hexdigest()[:16]


def clean_environment() -> dict[str, str]:
    # A folder of wheels that this machine knows would add hashes that nobody else's index has.
    return {name: value for name, value in os.environ.items() if name not in ("UV_FIND_LINKS", "UV_EXTRA_INDEX_URL")}


def lock(name: str, sources: list[str], extra: list[str]) -> None:
    target = LOCKS / f"{name}.txt"
    output = str(target.relative_to(ROOT))
    options = ["--universal", "--python-version", "3.11", "--generate-hashes", "--no-build", "--no-config", "--quiet"]
    silent = ["--no-header", "--no-emit-index-url", "--no-emit-find-links"]
    uv = [str(Path(sys.executable).with_name("uv")), "pip", "compile"]
    command = [*uv, *sources, *options, *silent, "--output-file", output, *extra]
    subprocess.run(command, cwd=ROOT, env=clean_environment(), check=True, stdout=subprocess.DEVNULL)
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text())
    target.write_text(f"{MARK}{digest(pyproject)}\n{target.read_text()}")


def main() -> None:
    LOCKS.mkdir(exist_ok=True)
    for name, sources in WANTED.items():
        lock(name, sources, sys.argv[1:])


if __name__ == "__main__":
    main()
