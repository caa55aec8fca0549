"""The packages of the console: pinned by hash, without an address or an install script, under licences that we know."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from tools import console

ROOTS = {
    "@cfworker/json-schema", "@tanstack/react-query", "@tanstack/react-router", "@tanstack/react-virtual",
    "lucide-react", "openapi-fetch", "react", "react-aria-components", "react-dom",
}  # fmt: skip
"""Packages that the sources import; these and what they need are shipped, everything else only builds and tests."""
SHIPPED = {"MIT", "Apache-2.0", "0BSD", "Unlicense", "ISC"}
TOOLS = SHIPPED | {
    "BSD-2-Clause",
    "BSD-3-Clause",
    "MPL-2.0",
    "BlueOak-1.0.0",
    "CC-BY-4.0",
    "CC0-1.0",
    "MIT-0",
    "Python-2.0",
}
NAMED_IN_THEIR_FILE = {"@react-aria/optimize-locales-plugin": "Apache-2.0"}
"""Packages whose package.json names no licence, and the one that their LICENSE file holds."""


def _read_lock() -> Mapping[str, Any]:
    return json.loads((console.SOURCES / "package-lock.json").read_text())


def _locked() -> Iterator[tuple[str, Mapping[str, Any]]]:
    for place, package in _read_lock()["packages"].items():
        if place:
            yield place.rpartition("node_modules/")[2], package


def test_every_package_is_pinned_by_hash_and_by_no_address() -> None:
    assert [*_locked()]
    for name, package in _locked():
        assert package.get("integrity", "").startswith("sha512-"), name
        assert "resolved" not in package, name


def test_no_package_runs_an_install_script() -> None:
    assert not [name for name, package in _locked() if package.get("hasInstallScript")]
    settings = (console.SOURCES / ".npmrc").read_text().splitlines()
    assert {"ignore-scripts=true", "omit-lockfile-registry-resolved=true", "save-exact=true"} <= {*settings}


def test_every_licence_is_one_that_we_know() -> None:
    shipped = _find_shipped()
    assert len(shipped) > len(ROOTS)
    unknown = {}
    for name, package in _locked():
        licence = package.get("license") or NAMED_IN_THEIR_FILE.get(name)
        choices = {*(licence or "none").strip("()").split(" OR ")}
        if not choices & (SHIPPED if name in shipped else TOOLS):
            unknown[name] = licence
    assert not unknown


def test_the_roots_are_what_the_sources_import() -> None:
    imported = set[str]()
    for path in (console.SOURCES / "src").rglob("*.ts*"):
        if ".test." not in path.name:
            imported |= set(re.findall(r"from '((?:@[\w-]+/)?[\w-]+)", path.read_text()))
    assert imported == ROOTS


def _find_shipped() -> set[str]:
    needs = {name: package.get("dependencies", {}) for name, package in _locked()}
    found, waiting = set[str](), [*ROOTS]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting.extend(needs[name])
    return found


def test_the_versions_are_exact() -> None:
    wanted = json.loads((console.SOURCES / "package.json").read_text())
    versions = {**wanted["dependencies"], **wanted["devDependencies"]}
    assert versions
    assert not {name: version for name, version in versions.items() if not version[0].isdigit()}
