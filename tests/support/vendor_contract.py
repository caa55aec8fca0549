"""A vendor's own API description, to hold requests and answers against, and to make answers of.

The descriptions are data beside the repository (`../shared/vendor-apis`); without them the tests skip and say so.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote, urlsplit

import jsonschema_rs
import pytest
from jsonschema_path import SchemaPath
from openapi_core import Config, OpenAPI
from openapi_core.exceptions import OpenAPIError
from openapi_core.testing import MockRequest

DESCRIPTIONS = Path(__file__).parents[3] / "shared" / "vendor-apis"
MOMENT = "2026-01-01T00:00:00Z"
MAX_KEPT_BODY = 10_000
"""Bytes of a request's body up to which its verdict is kept, so that bodies of megabytes do not stay in memory."""
RESOLVED_PARTS = 100_000
"""Parts of a description whose references are followed once."""
METHODS = ("get", "post", "put", "patch", "delete")

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Sent:
    """One request: `template` is its path in the description, `values` fill it. A query parameter has one value, or
    all that were sent."""

    method: str
    template: str
    values: Mapping[str, str]
    query: Mapping[str, str | list[str]]
    headers: Mapping[str, str]
    body: bytes


class Contract:
    """One description."""

    def __init__(self, document: Json) -> None:
        _drop_discriminators(document)
        _simplify_security(document)
        self._document = document
        # A description is checked where it is made; here that would take a second in each test process.
        spec = SchemaPath.from_dict(cast("Any", document), resolved_cache_maxsize=RESOLVED_PARTS)
        self._openapi = OpenAPI(spec, config=Config(spec_validator_cls=cast("Any", None)))
        self._server: str = document["servers"][0]["url"]
        self._components = _modern(document["components"])
        self._validators: dict[str, Any] = {}
        self._verdicts: dict[str, str | None] = {}
        """Of requests that were seen before: a suite sends each many times, and to look at one takes 15 ms."""

    def operations(self) -> list[tuple[str, str]]:
        """Every method and path template."""
        return [
            (method, path) for path, known in self._document["paths"].items() for method in METHODS if method in known
        ]

    def wrong(self, sent: Sent) -> str | None:
        """Why the description does not allow a request; None where it does. Stricter in one way: a query parameter
        that it does not name is refused too."""
        if len(sent.body) > MAX_KEPT_BODY:
            return self._find_wrong(sent)
        key = repr(sent)
        if key not in self._verdicts:
            self._verdicts[key] = self._find_wrong(sent)
        return self._verdicts[key]

    def _find_wrong(self, sent: Sent) -> str | None:
        operation = self._document["paths"][sent.template][sent.method]
        known = {
            self._resolved(one)["name"]
            for one in operation.get("parameters", [])
            if self._resolved(one)["in"] == "query"
        }
        if unknown := sent.query.keys() - known:
            return f"unknown query parameters {sorted(unknown)}"
        values = {name: quote(value, safe="") for name, value in sent.values.items()}
        server = operation.get("servers", [{"url": self._server}])[0]["url"]
        path = urlsplit(server).path.rstrip("/") + _fill(sent.template, values)
        request = MockRequest(
            server, sent.method, path, args=dict(sent.query), headers=dict(sent.headers),
            data=sent.body or None, content_type=sent.headers.get("Content-Type", "application/json"),
        )  # fmt: skip
        try:
            self._openapi.validate_request(request)
        except OpenAPIError as error:
            return f"{error}: {error.__cause__!r:.500}"
        if sent.body and "requestBody" not in operation:
            return "a body where none is described"
        return self._unknown_fields(operation, sent.body)

    def _unknown_fields(self, operation: Json, body: bytes) -> str | None:
        """Fields that a body's schema does not name, also in objects within it, where it is no choice of several. The
        body itself counts as closed; an object within it that may have further fields does not."""
        kind, content = next(iter(operation.get("requestBody", {}).get("content", {}).items()), ("", {}))
        if not body or "json" not in kind:
            return None
        schema = {**self._resolved(content["schema"]), "additionalProperties": False}
        unknown = sorted(self._find_unknown(schema, json.loads(body), ""))
        return f"unknown fields {unknown}" if unknown else None

    def _find_unknown(self, schema: Json, value: Any, path: str) -> Iterator[str]:
        schema = self._resolved(schema)
        if isinstance(value, list):
            for one in value:
                yield from self._find_unknown(schema.get("items", {}), one, f"{path}[]")
            return
        properties = schema.get("properties")
        is_open = bool(schema.get("additionalProperties")) or schema.keys() & {"allOf", "anyOf", "oneOf"}
        if not isinstance(value, dict) or not properties or is_open:
            return
        for name, one in value.items():
            place = f"{path}.{name}".removeprefix(".")
            if name not in properties:
                yield place
            else:
                yield from self._find_unknown(properties[name], one, place)

    def wrong_answer(self, method: str, template: str, status: int, value: Any) -> str | None:
        """Why an answer is not as described; None where it is. Vendors describe few of the refusals that they send."""
        answers = self._document["paths"][template][method]["responses"]
        answer = answers.get(str(status)) or (answers.get("default") if status >= 400 else None)
        if answer is None:
            return None if status >= 400 else f"{method} {template} never answers {status}"
        content = self._resolved(answer).get("content", {})
        if "application/json" not in content:
            return None
        validator = self._validator(f"{method} {template} {status}", content["application/json"].get("schema", {}))
        problem = next(iter(validator.iter_errors(value)), None)
        return problem and f"{method} {template} {status}: {problem.message:.300} at {problem.instance_path}"

    def list_refusals(self, method: str, template: str) -> list[int]:
        """The statuses from 400 on that are described for an operation by their numbers."""
        answers = self._document["paths"][template][method]["responses"]
        return sorted(int(status) for status in answers if status.isdigit() and int(status) >= 400)

    def find_answer_schema(self, method: str, template: str, status: int) -> Json | None:
        """The schema of an answer in JSON, where one is described."""
        answer = self._document["paths"][template][method]["responses"].get(str(status))
        content = self._resolved(answer).get("content", {}) if answer else {}
        return content.get("application/json", {}).get("schema")

    def wrong_instance(self, name: str, value: Any) -> str | None:
        """Why a value is none of a named schema; None where it is."""
        validator = self._validator(name, {"$ref": f"#/components/schemas/{name}"})
        problem = next(iter(validator.iter_errors(value)), None)
        return problem and f"{name}: {problem.message:.300} at {problem.instance_path}"

    def find_choices(self, name: str) -> list[Json]:
        """The schemas of which a value of a named schema is one."""
        found = self._resolved({"$ref": f"#/components/schemas/{name}"})
        return [self._resolved(one) for one in found.get("anyOf") or found["oneOf"]]

    def resolve(self, part: Json) -> Json:
        """A part of the description, or what it refers to."""
        return self._resolved(part)

    def fill(self, name: str, known: Any) -> Any:
        """An instance of a schema: `known`, and whatever else the description requires."""
        return self._filled({"$ref": f"#/components/schemas/{name}"}, known)

    def _validator(self, key: str, schema: Json) -> Any:
        if key not in self._validators:
            whole = {**_modern(schema), "components": self._components}
            self._validators[key] = jsonschema_rs.Draft202012Validator(whole, validate_formats=True)
        return self._validators[key]

    def _resolved(self, part: Json) -> Json:
        if "$ref" not in part:
            return part
        found: Any = self._document
        for step in part["$ref"].removeprefix("#/").split("/"):
            found = found[step]
        return self._resolved(found)

    def _filled(self, schema: Json, known: Any = ...) -> Any:
        schema = self._resolved(schema)
        if known is None:
            return None
        if isinstance(known, dict):
            return self._object(schema, known)
        if isinstance(known, list):
            items = schema.get("items", {})
            return [self._filled(items, one) if items else one for one in known]
        return self._made_up(schema) if known is ... else known

    def _object(self, schema: Json, known: Json) -> Json:
        parts = [self._resolved(one) for one in schema.get("allOf", [])] + [schema]
        if "oneOf" in schema:
            parts.append(self._resolved(schema["oneOf"][0]))
        properties = {name: one for part in parts for name, one in part.get("properties", {}).items()}
        needed = [name for part in parts for name in part.get("required", [])]
        names = dict.fromkeys([*needed, *known])
        return {name: self._filled(properties.get(name, {}), known.get(name, ...)) for name in names}

    def _made_up(self, schema: Json) -> Any:
        if schema.get("nullable"):
            return None
        if "enum" in schema:
            return schema["enum"][0]
        if "oneOf" in schema or "anyOf" in schema:
            return self._filled((schema.get("oneOf") or schema["anyOf"])[0])
        kind = schema.get("type", "object")
        if kind == "string":
            return _TEXTS.get(schema.get("format", ""), "x" * schema.get("minLength", 1))
        return (
            {"integer": 1, "number": 1.0, "boolean": False, "array": []}.get(kind, ...)
            if kind != "object"
            else self._object(schema, {})
        )


_TEXTS = {"date-time": MOMENT, "uri": "https://api.github.test/made-up", "date": MOMENT[:10], "email": "a@b.test"}


def _simplify_security(document: Json) -> None:
    """OAuth tokens as what they are on the wire: openapi-core knows no scheme of type oauth2. Who has which scopes is
    the double's business."""
    for scheme in document["components"].get("securitySchemes", {}).values():
        if scheme["type"] == "oauth2":
            scheme.clear()
            scheme.update({"type": "http", "scheme": "bearer"})


def _fill(template: str, values: Mapping[str, str]) -> str:
    """A path of its template; names may have signs that str.format() reads otherwise, such as ``{todoTask-id}``."""
    return re.sub(r"\{([^{}]+)\}", lambda found: values[found[1]], template)


def _modern(part: Any) -> Any:
    """OpenAPI 3.0's `nullable` as JSON Schema 2020-12 says it. And `oneOf` as anyOf: descriptions use it for unions
    whose members overlap, which their own answers would not pass."""
    if isinstance(part, list):
        return [_modern(one) for one in part]
    if not isinstance(part, dict):
        return part
    made = {"anyOf" if name == "oneOf" else name: _modern(value) for name, value in part.items()}
    if made.pop("nullable", None) is True and isinstance(made.get("type"), str):
        made["type"] = [made["type"], "null"]
        if "enum" in made:
            made["enum"] = [*made["enum"], None]
    return made


def _drop_discriminators(part: Any) -> None:
    """Remove those whose members are no references: without them, the choice is among all members, as it is meant
    (OpenAPI 3.0 has a discriminator for references only, and the validator looks for components that are none)."""
    if isinstance(part, list):
        for one in part:
            _drop_discriminators(one)
    elif isinstance(part, dict):
        if isinstance(part.get("discriminator"), dict) and not all("$ref" in one for one in part.get("oneOf", [])):
            del part["discriminator"]
        for one in part.values():
            _drop_discriminators(one)


@cache
def contract(vendor: str) -> Contract:
    """The description of a vendor; skips the test where there is none."""
    path = DESCRIPTIONS / f"{vendor}.openapi.json"
    if not path.exists():
        pytest.skip(
            f"the vendor's API description is missing: {path.parent.parent.name}/{path.parent.name}/{path.name}"
        )
    return Contract(json.loads(path.read_text()))
