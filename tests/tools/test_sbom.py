"""The bill of materials is complete, valid, and the same wherever it is made."""

import importlib.resources
import json
import os
import subprocess
import sys
import tomllib
from dataclasses import replace
from typing import Any

import jsonschema
import pytest
from referencing import Registry, Resource

from tools.locked import ROOT, read_locked
from tools.sbom import DATABASE, NotInstalled, document, render_document

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
SCHEMAS = importlib.resources.files("cyclonedx.schema._res")


@pytest.fixture(scope="module")
def bill() -> dict[str, Any]:
    return json.loads(render_document(read_locked("runtime"), PROJECT))


def schema(name: str) -> dict[str, Any]:
    return json.loads((SCHEMAS / f"{name}.SNAPSHOT.schema.json").read_text("utf-8"))


def test_it_is_cyclonedx(bill: dict[str, Any]) -> None:
    """Against the standard's own schema, which the package of its Python library carries."""
    others = {f"{name}.SNAPSHOT.schema.json": schema(name) for name in ("spdx", "jsf-0.82")}
    own = schema("bom-1.6")
    base = own["$id"].rpartition("/")[0]
    resources = [(f"{base}/{name}", Resource.from_contents(one)) for name, one in others.items()]
    registry = Registry().with_resources(
        [*resources, *((one["$id"], Resource.from_contents(one)) for one in others.values())]
    )
    validator = jsonschema.Draft7Validator(own, registry=registry)
    assert [error.message for error in validator.iter_errors(bill)] == []
    broken = {**bill, "components": [{**bill["components"][0], "licenses": [{"license": {"id": "No-Such-License"}}]}]}
    assert not validator.is_valid(broken), "the list of licences is looked at too"


def test_every_package_of_the_runtime_lock_is_in_it(bill: dict[str, Any]) -> None:
    packages = read_locked("runtime")
    found = {one["name"]: one for one in bill["components"]}
    assert set(found) == {one.name for one in packages}
    for one in packages:
        component = found[one.name]
        assert component["version"] == one.version
        assert component["purl"] == f"pkg:pypi/{one.name}@{one.version}"
        (reference,) = component["externalReferences"]
        assert [each["content"] for each in reference["hashes"]] == list(one.hashes)
        assert one.hashes
        assert component["licenses"][0]
    assert {one["name"] for one in found[DATABASE]["components"]} == {"postgresql"}


def test_what_needs_what(bill: dict[str, Any]) -> None:
    needs = {one["ref"].rpartition("/")[2].partition("@")[0]: one["dependsOn"] for one in bill["dependencies"]}
    names = {name: {ref.rpartition("/")[2].partition("@")[0] for ref in refs} for name, refs in needs.items()}
    asked = {line.split(">")[0].split("[")[0].split("=")[0].strip() for line in PROJECT["dependencies"]}
    assert names["mcpist"] == asked
    assert "multidict" in names["aiohttp"]
    assert set().union(*names.values()) == {one.name for one in read_locked("runtime")}


def test_the_same_lock_gives_the_same_bytes() -> None:
    """In another time zone, language, folder and process, with another order of sets."""
    made = render_document(read_locked("runtime"), PROJECT)
    program = (
        "import sys, tomllib; from tools.sbom import *; "
        "project = tomllib.loads((ROOT / 'pyproject.toml').read_text())['project']; "
        "sys.stdout.buffer.write(render_document(read_locked('runtime'), project))"
    )
    for seed, zone in (("1", "Asia/Tokyo"), ("2", "America/Lima")):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "TZ": zone, "LC_ALL": "C", "PYTHONPATH": str(ROOT)}
        ran = subprocess.run([sys.executable, "-c", program], cwd="/", env=environment, capture_output=True, check=True)
        assert ran.stdout == made


def test_another_lock_is_another_bill() -> None:
    packages = read_locked("runtime")
    first = document(packages, PROJECT)
    other = document([replace(packages[0], hashes=("0" * 64,)), *packages[1:]], PROJECT)
    assert first["serialNumber"] != other["serialNumber"]


def test_no_licence_is_read_of_another_version() -> None:
    packages = read_locked("runtime")
    with pytest.raises(NotInstalled, match="make setup"):
        document([replace(packages[0], version="0.0.1"), *packages[1:]], PROJECT)
    with pytest.raises(NotInstalled, match="not installed"):
        document([replace(packages[0], name="no-such-package", wanted_by=()), *packages[1:]], PROJECT)


def test_no_address_of_an_index_is_in_it(bill: dict[str, Any]) -> None:
    assert "simple/" not in json.dumps(bill)
    assert [one["url"] for part in bill["components"] for one in part["externalReferences"] if "//" in one["url"]] == []


def test_the_command() -> None:
    ran = subprocess.run(["make", "sbom"], cwd=ROOT, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    path = ROOT / ran.stdout.split()[-1]
    assert path.read_bytes() == render_document(read_locked("runtime"), PROJECT)
