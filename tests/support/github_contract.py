"""GitHub's API description: the shared one, and the operations it lacks from npm's `@octokit/openapi`, where it came
from. That is one file of 13 MB, so what is needed of it is kept beside the installed package.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.support.node import package_file, require_node_packages
from tests.support.vendor_contract import DESCRIPTIONS, Contract

Json = dict[str, Any]
Operation = tuple[str, str]
"""Method in lower case, and path template as in the description."""

PACKAGE = "@octokit/openapi"
_REFERENCE = re.compile(rb'"\$ref":\s?"#/components/(\w+)/([^"]+)"')


@cache
def github_contract(operations: frozenset[Operation]) -> Contract:
    """The description with at least `operations`; skips the test where one of its two sources is missing."""
    path = DESCRIPTIONS / "github.openapi.json"
    if not path.exists():
        pytest.skip(f"the vendor's API description is missing: shared/{DESCRIPTIONS.name}/{path.name}")
    document: Json = orjson.loads(path.read_bytes())
    missing = {one for one in operations if one[0] not in document["paths"].get(one[1], {})}
    if missing:
        _join(document, _load_operations(missing))
    return Contract(document)


def _join(document: Json, more: Json) -> None:
    for path, methods in more["paths"].items():
        document["paths"].setdefault(path, {}).update(methods)
    for kind, parts in more["components"].items():
        known = document["components"].setdefault(kind, {})
        known.update({name: part for name, part in parts.items() if name not in known})


def _load_operations(operations: Iterable[Operation]) -> Json:
    """The paths of these operations and the components that they need, from the package or from what was kept of it."""
    require_node_packages()
    source = package_file(PACKAGE, "generated/api.github.com.json")
    if not source.exists():
        pytest.skip(f"THE PACKAGE {PACKAGE} IS MISSING: the tools of GitHub were not tried")
    names = ",".join(sorted(f"{method} {path}" for method, path in operations))
    digest = hashlib.sha256(f"{source.stat().st_mtime_ns} {names}".encode()).hexdigest()[:16]
    kept = source.with_name(f"needed-{digest}.json")
    if not kept.exists():
        _write_whole(kept, _prune(orjson.loads(source.read_bytes()), operations))
    return orjson.loads(kept.read_bytes())


def _write_whole(path: Path, document: Json) -> None:
    """Several test processes may write at once."""
    partial = path.with_suffix(f".{os.getpid()}")
    partial.write_text(json.dumps(document))
    partial.rename(path)


def _prune(whole: Json, operations: Iterable[Operation]) -> Json:
    paths: Json = {}
    for method, path in sorted(operations):
        # As the shared description: the source declares no security.
        found = whole["paths"][path][method]
        paths.setdefault(path, {})[method] = {**_without_examples(found), "security": [{"bearerToken": []}]}
    components: Json = {}
    waiting = _references(paths)
    while waiting:
        kind, name = waiting.pop()
        if name not in components.setdefault(kind, {}):
            components[kind][name] = _without_examples(whole["components"][kind][name])
            waiting |= _references(components[kind][name])
    return {"paths": paths, "components": components}


def _without_examples(part: Any) -> Any:
    if isinstance(part, list):
        return [_without_examples(one) for one in part]
    if not isinstance(part, dict):
        return part
    # "examples" is a keyword where it is an object of named ones, and may be a property's name elsewhere.
    return {name: _without_examples(value) for name, value in part.items() if not _is_example(name, value)}


def _is_example(name: str, value: Any) -> bool:
    return name == "examples" and isinstance(value, dict) and not {"type", "$ref"} & value.keys()


def _references(part: Any) -> set[tuple[str, str]]:
    return {(kind.decode(), name.decode()) for kind, name in _REFERENCE.findall(orjson.dumps(part))}
