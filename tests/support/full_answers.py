"""A double's answers with whatever else the vendor's API description names: as large as the vendor sends them."""

import re
from collections.abc import Mapping
from typing import Any

import orjson

from modules.kit import Download, Vendor, VendorAnswer
from tests.support.odd_documents import find_raw_rows, replace_rows
from tests.support.vendor_contract import Contract

Json = dict[str, Any]
_ADDRESS = re.compile(r"url|uri|href|^self$|link|webui", re.IGNORECASE)
_MOST_LEVELS = 6
_ROWS = ("results", "value", "items", "issues", "comments", "worklogs")
"""Where the vendors' pages have their rows."""
_NEVER = frozenset({"pull_request"})
"""What makes another thing of the one that the double has."""
_TEXTS = {
    "date-time": "2026-05-14T09:26:53.123Z", "date": "2026-05-14", "uuid": "1f3870be-274f-46c4-9f0a-6f0b3d1b5a7e",
    "email": "ada.lovelace@acme.test",
}  # fmt: skip


class FullVendor:
    """A vendor in front of a double whose answers have every field that is described. They are kept in `bodies`, and in
    `answers` by method and path. A list has at least `rows` rows: those of the double, again and again."""

    def __init__(self, vendor: Vendor, contract: Contract, rows: int = 0) -> None:
        self.bodies: list[bytes] = []
        self.answers: dict[str, bytes] = {}
        self._vendor, self._contract, self._least_rows = vendor, contract, rows
        self._forms = [
            (method, template, re.compile(re.sub(r"\\\{[^{}]+\\\}", "[^/]+", re.escape(template))))
            for method, template in contract.operations()
        ]

    async def request(self, method: str, path: str, **options: Any) -> VendorAnswer:
        """Send a request, and fill up its answer."""
        answer = await self._vendor.request(method, path, **options)
        schema = self._find_schema(method.lower(), path, answer.status)
        if not answer.body:
            return answer
        if "json" not in answer.headers.get("content-type", "json") or schema is None:
            self.bodies.append(answer.body)
            return answer
        found = self._repeat_rows(orjson.loads(answer.body)) if method == "GET" else orjson.loads(answer.body)
        rows = next((name for name in _ROWS if isinstance(found, dict) and name in found), None)
        if rows:  # what is around the rows leads to the next page, and stays as it is
            properties = self._list_properties(self._contract.resolve(schema))
            found[rows] = self._complete(properties.get(rows, {}), found[rows], _MOST_LEVELS)
        else:
            found = self._complete(schema, found, _MOST_LEVELS)
        body = orjson.dumps(found)
        self.bodies.append(body)
        self.answers[f"{method} {path}"] = body
        return VendorAnswer(answer.status, answer.headers, body, write=False)

    async def download(self, path: str, **options: Any) -> Download:
        """Ask for a file, which is kept as it is."""
        found = await self._vendor.download(path, **options)
        self.bodies.append(found.content)
        return found

    def _repeat_rows(self, body: Any) -> Any:
        is_object = isinstance(body, dict) and "id" in body  # which may have lists in it
        rows = [] if is_object else find_raw_rows(body)
        if not rows or len(rows) >= self._least_rows:
            return body
        return replace_rows(body, [rows[number % len(rows)] for number in range(self._least_rows)])

    def __getattr__(self, name: str) -> Any:
        return getattr(self._vendor, name)

    def _find_schema(self, method: str, path: str, status: int) -> Json | None:
        fitting = [one for one in self._forms if one[0] == method and one[2].fullmatch(path)]
        if not fitting:
            return None
        template = min(fitting, key=lambda one: one[1].count("{"))[1]
        return self._contract.find_answer_schema(method, template, status)

    def _complete(self, schema: Json, value: Any, levels: int, name: str = "") -> Any:
        schema = self._contract.resolve(schema)
        if isinstance(value, list) and isinstance(schema.get("items"), dict):
            return [self._complete(schema["items"], one, levels - 1, name) for one in value]
        if not isinstance(value, dict):
            return value
        properties = self._list_properties(schema)
        made = {key: self._complete(properties.get(key, {}), one, levels - 1, key) for key, one in value.items()}
        for key, one in properties.items():
            if key not in made and key not in _NEVER:
                more = self._make(one, levels - 1, key)
                made |= {key: more} if more is not None or self._is_nullable(one) else {}
        return made

    def _list_properties(self, schema: Json) -> dict[str, Json]:
        parts = [*map(self._contract.resolve, schema.get("allOf", [])), schema]
        return {name: one for part in parts for name, one in part.get("properties", {}).items()}

    def _is_nullable(self, schema: Json) -> bool:
        schema = self._contract.resolve(schema)
        return bool(schema.get("nullable")) or "null" in schema.get("type", ())

    def _make(self, schema: Json, levels: int, name: str) -> Any:
        """A usual value: null where that is one; also None for what is left out, what is nested deeply and choices."""
        schema = self._contract.resolve(schema)
        if self._is_nullable(schema):
            return None
        if "example" in schema:
            return schema["example"]
        if schema.get("enum"):
            return schema["enum"][0]
        kind: Any = schema.get("type", "object" if self._list_properties(schema) else None)
        if kind == "object":
            found = {key: self._make(one, levels - 1, key) for key, one in self._list_properties(schema).items()}
            return {key: one for key, one in found.items() if one is not None} if levels > 0 else None
        plain: Mapping[Any, Any] = {"integer": 12_345, "number": 1.5, "boolean": False, "array": []}
        return _make_text(schema, name) if kind == "string" else plain.get(kind)


def _make_text(schema: Json, name: str) -> str:
    if schema.get("format") in _TEXTS:
        return _TEXTS[schema["format"]]
    if schema.get("format") == "uri" or _ADDRESS.search(name):
        return "https://vendor.example.test/api/v3/objects/5b10a2844c20165700ede21g"
    if name.lower().endswith("id"):
        return "5b10a2844c20165700ede21g"
    return "2026-05-14T09:26:53.123Z" if name.lower().endswith(("at", "time", "created", "updated")) else "a few words"
