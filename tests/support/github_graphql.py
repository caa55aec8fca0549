"""GitHub's GraphQL schema, from npm's `@octokit/graphql-schema`. That is 1.2 MB of text, so what the double answers of
it is kept beside the installed package, as it stands there.
"""

import hashlib
import os
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from graphql import (
    DefinitionNode,
    DocumentNode,
    EnumTypeDefinitionNode,
    FieldDefinitionNode,
    GraphQLSchema,
    InputObjectTypeDefinitionNode,
    InputValueDefinitionNode,
    InterfaceTypeDefinitionNode,
    ListTypeNode,
    NamedTypeNode,
    NonNullTypeNode,
    ObjectTypeDefinitionNode,
    ScalarTypeDefinitionNode,
    TypeNode,
    build_ast_schema,
    parse,
    print_ast,
)

from tests.support.node import package_file, require_node_packages

PACKAGE = "@octokit/graphql-schema"
_WITH_FIELDS = (ObjectTypeDefinitionNode, InterfaceTypeDefinitionNode, InputObjectTypeDefinitionNode)
_KEPT = (*_WITH_FIELDS, EnumTypeDefinitionNode, ScalarTypeDefinitionNode)
_Fielded = ObjectTypeDefinitionNode | InterfaceTypeDefinitionNode
_BUILT_IN = {"String", "Int", "Float", "Boolean", "ID"}


@cache
def github_graphql_schema(parts: tuple[tuple[str, tuple[str, ...]], ...]) -> GraphQLSchema:
    """The schema with these fields of these types, and the types of their arguments whole; skips the test where the
    package is missing."""
    require_node_packages()
    source = package_file(PACKAGE, "schema.graphql")
    if not source.exists():
        pytest.skip(f"THE PACKAGE {PACKAGE} IS MISSING: the tools of GitHub were not tried")
    digest = hashlib.sha256(f"{source.stat().st_mtime_ns} {parts}".encode()).hexdigest()[:16]
    kept = source.with_name(f"needed-{digest}.graphql")
    if not kept.exists():
        _write_whole(kept, print_ast(_prune(parse(source.read_text("utf-8"), no_location=True), dict(parts))))
    return build_ast_schema(parse(kept.read_text("utf-8")))


def _write_whole(path: Path, text: str) -> None:
    """Several test processes may write at once."""
    partial = path.with_suffix(f".{os.getpid()}")
    partial.write_text(text, "utf-8")
    partial.rename(path)


def _prune(document: DocumentNode, parts: Mapping[str, tuple[str, ...]]) -> DocumentNode:
    known = {one.name.value: one for one in document.definitions if isinstance(one, _KEPT)}
    kept: dict[str, DefinitionNode] = {}
    waiting = list(parts)
    while waiting:
        name = waiting.pop()
        if name in kept or name in _BUILT_IN:
            continue
        found = replace(known[name], description=None, directives=())
        if isinstance(found, _Fielded):
            found = _pick_fields(found, parts)
        if isinstance(found, _WITH_FIELDS):
            found = replace(
                found, fields=tuple(replace(one, description=None, directives=()) for one in found.fields or ())
            )
            waiting += [_name_of(kind) for one in found.fields or () for kind in _list_types(one)]
        kept[name] = found
    return DocumentNode(definitions=tuple(kept.values()))


def _pick_fields(found: _Fielded, parts: Mapping[str, tuple[str, ...]]) -> _Fielded:
    wanted = parts[found.name.value]
    fields = tuple(one for one in found.fields or () if one.name.value in wanted)
    assert len(fields) == len(wanted), f"{found.name.value} lacks one of {wanted}"
    return replace(
        found, fields=fields, interfaces=tuple(one for one in found.interfaces or () if one.name.value in parts)
    )


def _list_types(one: FieldDefinitionNode | InputValueDefinitionNode) -> list[TypeNode]:
    arguments = (one.arguments or ()) if isinstance(one, FieldDefinitionNode) else ()
    return [one.type, *(argument.type for argument in arguments)]


def _name_of(kind: TypeNode) -> str:
    while isinstance(kind, NonNullTypeNode | ListTypeNode):
        kind = kind.type
    assert isinstance(kind, NamedTypeNode)
    return kind.name.value
