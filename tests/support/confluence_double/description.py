"""Confluence's API description: the shared one, and seven operations that it lacks, from where it came from: npm's
`confluence.js` 3.2.0 (MIT), `dist/v1` and `dist/v2`."""

import json
from functools import cache
from typing import Any

from tests.support.vendor_contract import DESCRIPTIONS, Contract, contract

Json = dict[str, Any]


@cache
def load_description() -> Contract:
    """The description; skips the test where the shared one is missing."""
    contract("confluence")
    document = json.loads((DESCRIPTIONS / "confluence.openapi.json").read_text())
    for path, operations in _PATHS.items():
        document["paths"].setdefault(path, {}).update(operations)
    document["components"]["schemas"].update(_SCHEMAS)
    return Contract(document)


def _describe(scope: str, *parameters: Json, body: str = "", answer: str = "", status: str = "200") -> Json:
    described: Json = {
        "parameters": list(parameters),
        "security": [{"basicAuth": []}, {"oAuthDefinitions": [scope]}],
        "responses": {status: _hold(answer) if answer else {"description": "OK"}},
    }
    return {**described, "requestBody": {"required": True, **_hold(body)}} if body else described


def _hold(schema: str) -> Json:
    return {
        "description": "OK",
        "content": {"application/json": {"schema": {"$ref": f"#/components/schemas/{schema}"}}},
    }


def _in_path(name: str) -> Json:
    return {"name": name, "in": "path", "required": True, "schema": {"type": "integer", "minimum": 1}}


def _in_query(name: str, schema: Json | None = None, *, required: bool = False) -> Json:
    return {"name": name, "in": "query", "required": required, "schema": schema or {"type": "string"}}


_BOOLEAN: Json = {"type": "boolean"}
_NUMBER: Json = {"type": "number"}
_LIMIT: Json = {"type": "integer", "minimum": 1, "maximum": 250}
_FORMAT: Json = {"$ref": "#/components/schemas/v2.PrimaryBodyRepresentation"}
_BODY: Json = {
    "anyOf": [{"$ref": f"#/components/schemas/hand.{name}"} for name in ("PageBodyWrite", "PageNestedBodyWrite")]
}
_INCLUDED = ("properties", "operations", "likes", "versions", "version")
_COMMENT_ID = _in_path("comment-id")

_PATHS: Json = {
    "/wiki/api/v2/footer-comments/{comment-id}": {
        "get": _describe(
            "read:comment:confluence", _COMMENT_ID, _in_query("body-format", _FORMAT), _in_query("version", _NUMBER),
            *(_in_query(f"include-{name}", _BOOLEAN) for name in _INCLUDED), answer="v2.FooterComment",
        ),
        "put": _describe(
            "write:comment:confluence", _COMMENT_ID, body="more.UpdateFooterComment", answer="v2.FooterComment"
        ),
        "delete": _describe("delete:comment:confluence", _COMMENT_ID, status="204"),
    },
    "/wiki/api/v2/footer-comments/{id}/children": {
        "get": _describe(
            "read:comment:confluence", _in_path("id"), _in_query("body-format", _FORMAT), _in_query("cursor"),
            _in_query("sort", {"$ref": "#/components/schemas/v2.CommentSortOrder"}), _in_query("limit", _LIMIT),
            answer="more.FooterCommentChildren",
        ),
    },
    "/wiki/rest/api/content/{id}/label": {
        "delete": _describe("write:label:confluence", _in_path("id"), _in_query("name", required=True), status="204"),
    },
    "/wiki/api/v2/users-bulk": {
        "post": _describe("read:user:confluence", body="more.UserIds", answer="more.BulkUserLookup"),
    },
    "/wiki/rest/api/user/current": {
        "get": _describe("read:content-details:confluence", _in_query("expand"), answer="v1.User"),
    },
}  # fmt: skip
_TEXT: Json = {"type": "string"}
_TEXT_OR_NULL: Json = {"type": ["string", "null"]}
_SCHEMAS: Json = {
    "more.UpdateFooterComment": {
        "type": "object", "additionalProperties": False,
        "properties": {
            "version": {
                "type": "object", "properties": {"number": {"type": "integer"}, "message": _TEXT},
                "additionalProperties": False,
            },
            "body": _BODY,
        },
    },
    "more.ChildComment": {
        "type": "object",
        "properties": {
            "id": _TEXT, "status": {"$ref": "#/components/schemas/v2.ContentStatus"}, "title": _TEXT,
            "parentCommentId": _TEXT, "version": {"$ref": "#/components/schemas/v2.Version"},
            "body": {"$ref": "#/components/schemas/v2.BodySummary"}, "resolutionStatus": _TEXT, "pageId": _TEXT,
            "_links": {"$ref": "#/components/schemas/v2.CommentLinks"},
        },
    },
    "more.FooterCommentChildren": {
        "type": "object",
        "properties": {
            "results": {"type": "array", "items": {"$ref": "#/components/schemas/more.ChildComment"}},
            "_links": {"$ref": "#/components/schemas/v2.MultiEntityLinks"},
        },
    },
    "more.UserIds": {
        "type": "object", "required": ["accountIds"], "additionalProperties": False,
        "properties": {"accountIds": {"type": "array", "items": _TEXT, "minItems": 1, "maxItems": 250}},
    },
    "more.BulkUserLookup": {
        "type": "object",
        "properties": {
            "results": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "displayName": _TEXT, "timeZone": _TEXT_OR_NULL, "personalSpaceId": _TEXT_OR_NULL,
                        "isExternalCollaborator": _BOOLEAN, "accountStatus": _TEXT, "accountId": _TEXT, "email": _TEXT,
                        "accountType": _TEXT, "publicName": _TEXT,
                    },
                },
            }
        },
    },
}  # fmt: skip
