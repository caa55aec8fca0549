"""The OpenAPI document as an API reference: operations by tag, with their fields and an example for curl."""

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

MAX_DEPTH = 4
MAX_QUERY = 100
_REF = "#/components/schemas/"
Schema = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class FieldEntry:
    """A parameter or a property; `name` has the names of the objects around it before it, with dots."""

    name: str
    type: str
    description: str
    required: bool


@dataclass(frozen=True, slots=True)
class OperationEntry:
    """One operation. `access` is who may call it; `example` is a command for a shell."""

    id: str
    method: str
    path: str
    summary: str
    description: str
    required_role: str
    scopes: tuple[str, ...]
    recent_sign_in: bool
    parameters: tuple[FieldEntry, ...]
    body: tuple[FieldEntry, ...]
    answer: tuple[FieldEntry, ...]
    status: str
    example: str

    def matches(self, words: Sequence[str]) -> bool:
        """Check whether every word stands somewhere in it."""
        names = " ".join(field.name for field in (*self.parameters, *self.body))
        text = f"{self.method} {self.path} {self.summary} {self.description} {names}".casefold()
        return all(word in text for word in words)


@dataclass(frozen=True, slots=True)
class OperationGroup:
    """The operations of one tag, in the order of the document."""

    tag: str
    operations: tuple[OperationEntry, ...]


def build_reference(document: Mapping[str, Any], base_url: str) -> tuple[OperationGroup, ...]:
    """Build the reference of a document of ours; `base_url` is what examples ask."""
    schemas: Mapping[str, Schema] = document.get("components", {}).get("schemas", {})
    groups: dict[str, list[OperationEntry]] = {}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            tag = str((operation.get("tags") or ["other"])[0])
            entry = _build_operation(base_url, path, method.upper(), operation, schemas)
            groups.setdefault(tag, []).append(entry)
    return tuple(OperationGroup(tag, tuple(entries)) for tag, entries in groups.items())


def search_reference(groups: Sequence[OperationGroup], query: str) -> tuple[OperationGroup, ...]:
    """The operations in which every word of the query stands; all for an empty one."""
    words = query[:MAX_QUERY].casefold().split()
    found = (OperationGroup(one.tag, tuple(op for op in one.operations if op.matches(words))) for one in groups)
    return tuple(group for group in found if group.operations)


def _build_operation(
    base_url: str, path: str, method: str, operation: Mapping[str, Any], schemas: Mapping[str, Schema]
) -> OperationEntry:
    access: Mapping[str, Any] = operation.get("x-access", {})
    body = _get_json_schema(operation.get("requestBody", {}))
    status, answer = _get_success(operation)
    parameters = tuple(
        FieldEntry(
            str(parameter["name"]),
            f"{_name_type(parameter['schema'], schemas)}, {parameter['in']}",
            str(parameter.get("description", "")),
            bool(parameter.get("required")),
        )
        for parameter in operation.get("parameters", ())
    )
    summary, _, rest = str(operation.get("description", "")).partition("\n\n")
    return OperationEntry(
        id=method.lower() + path.replace("/", ".").replace("{", "").replace("}", ""),
        method=method,
        path=path,
        summary=str(operation.get("summary") or summary),
        description=rest.strip(),
        required_role=str(access.get("required_role", "anyone")),
        scopes=tuple(access.get("scopes", ())),
        recent_sign_in=bool(access.get("recent_sign_in")),
        parameters=parameters,
        body=tuple(_list_fields(body, schemas)) if body else (),
        answer=tuple(_list_fields(answer, schemas)) if answer else (),
        status=status,
        example=_build_curl(base_url, path, method, build_example(body, schemas) if body else None),
    )


def _get_json_schema(holder: Mapping[str, Any]) -> Schema | None:
    return holder.get("content", {}).get("application/json", {}).get("schema")


def _get_success(operation: Mapping[str, Any]) -> tuple[str, Schema | None]:
    for status, response in operation["responses"].items():
        if status.startswith("2"):
            return status, _get_json_schema(response)
    return "", None


def _resolve(schema: Schema, schemas: Mapping[str, Schema]) -> Schema:
    """The schema itself, without references and without the null that it may also be."""
    if "$ref" in schema:
        named = schemas.get(str(schema["$ref"]).removeprefix(_REF), {})
        return {**named, **{name: value for name, value in schema.items() if name != "$ref"}}
    choices = [one for one in schema.get("anyOf", ()) if one.get("type") != "null"]
    if choices:
        return {**_resolve(choices[0], schemas), **{name: value for name, value in schema.items() if name != "anyOf"}}
    return schema


def _name_type(schema: Schema, schemas: Mapping[str, Schema]) -> str:
    resolved = _resolve(schema, schemas)
    is_optional = any(one.get("type") == "null" for one in schema.get("anyOf", ()))
    if "enum" in resolved or "const" in resolved:
        name = " | ".join(json.dumps(value) for value in resolved.get("enum", [resolved.get("const")]))
    elif resolved.get("type") == "array":
        name = f"list of {_name_type(resolved.get('items', {}), schemas)}"
    else:
        name = str(resolved.get("format") or resolved.get("type") or "any")
    return f"{name} | null" if is_optional else name


def _list_fields(
    schema: Schema, schemas: Mapping[str, Schema], prefix: str = "", depth: int = 0
) -> Iterator[FieldEntry]:
    resolved = _resolve(schema, schemas)
    if resolved.get("type") == "array":
        yield from _list_fields(resolved.get("items", {}), schemas, f"{prefix.rstrip('.')}[].", depth)
        return
    required = resolved.get("required", ())
    for name, part in resolved.get("properties", {}).items():
        described = str(part.get("description") or _resolve(part, schemas).get("description", ""))
        yield FieldEntry(prefix + name, _name_type(part, schemas), described, name in required)
        inner = _resolve(part, schemas)
        if depth + 1 < MAX_DEPTH and inner.get("type") in ("object", "array"):
            yield from _list_fields(part, schemas, f"{prefix}{name}.", depth + 1)


def build_example(schema: Schema, schemas: Mapping[str, Schema], depth: int = 0) -> Any:
    """A value of a schema, with what is required of its objects."""
    resolved = _resolve(schema, schemas)
    if resolved.get("default") is not None:
        return resolved["default"]
    if "enum" in resolved or "const" in resolved:
        return cast("list[Any]", resolved.get("enum", [resolved.get("const")]))[0]
    match resolved.get("type"):
        case "object":
            required = resolved.get("required", ()) if depth < MAX_DEPTH else ()
            properties: Mapping[str, Schema] = resolved.get("properties", {})
            known = [name for name in required if name in properties]
            return {name: build_example(properties[name], schemas, depth + 1) for name in known}
        case "array":
            return [build_example(resolved.get("items", {}), schemas, depth + 1)] if depth < MAX_DEPTH else []
        case "integer" | "number":
            return resolved.get("minimum", 1)
        case "boolean":
            return True
        case _:
            return _FORMATS.get(str(resolved.get("format", "")), "…")


_FORMATS = {
    "uuid": "00000000-0000-0000-0000-000000000000",
    "date-time": "2027-01-01T00:00:00Z",
    "password": "…",
}


def _build_curl(base_url: str, path: str, method: str, body: Any) -> str:
    parts = ["curl", *(["-X", method] if method != "GET" else []), shlex.quote(base_url + path)]
    lines = [" ".join(parts), '-H "Authorization: Bearer $MCPIST_TOKEN"']
    if body is not None:
        lines += ["-H 'Content-Type: application/json'", f"-d {shlex.quote(json.dumps(body, ensure_ascii=False))}"]
    return " \\\n  ".join(lines)
