"""Documents that SCIM answers: resources, lists and errors (RFC 7643, RFC 7644), and what this server can do."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from core.directory.scim import ProvisionedGroup, ProvisionedUser

USER_SCHEMA = "urn:ietf:params:scim:schemas:core:2.0:User"
GROUP_SCHEMA = "urn:ietf:params:scim:schemas:core:2.0:Group"
PATCH_SCHEMA = "urn:ietf:params:scim:api:messages:2.0:PatchOp"
_LIST_SCHEMA = "urn:ietf:params:scim:api:messages:2.0:ListResponse"
_ERROR_SCHEMA = "urn:ietf:params:scim:api:messages:2.0:Error"
_CONFIG_SCHEMA = "urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig"
_TYPE_SCHEMA = "urn:ietf:params:scim:schemas:core:2.0:ResourceType"
_SCHEMA_SCHEMA = "urn:ietf:params:scim:schemas:core:2.0:Schema"
MAX_PAGE = 200
Document = Mapping[str, Any]


def render_user(user: ProvisionedUser, base_url: str) -> Document:
    """A user as a resource."""
    return {
        "schemas": [USER_SCHEMA],
        "id": str(user.id),
        **({"externalId": user.external_id} if user.external_id else {}),
        "userName": user.user_name,
        "name": {"givenName": user.given_name, "familyName": user.family_name, "formatted": user.name},
        "displayName": user.name,
        "active": user.active,
        "emails": [{"value": user.email, "type": "work", "primary": True}],
        "meta": _render_meta("User", f"{base_url}/Users/{user.id}", user.created_at, user.updated_at),
    }


def render_group(group: ProvisionedGroup, base_url: str) -> Document:
    """A group as a resource; its members only where they were read."""
    members = {
        "members": [
            {"value": str(user_id), "display": email, "$ref": f"{base_url}/Users/{user_id}", "type": "User"}
            for user_id, email in group.members or ()
        ]
    }
    return {
        "schemas": [GROUP_SCHEMA],
        "id": str(group.id),
        **({"externalId": group.external_id} if group.external_id else {}),
        "displayName": group.display_name,
        **({} if group.members is None else members),
        "meta": _render_meta("Group", f"{base_url}/Groups/{group.id}", group.created_at, group.updated_at),
    }


def render_list(resources: Sequence[Document], total: int, start_index: int) -> Document:
    """A page of resources (RFC 7644 §3.4.2)."""
    return {
        "schemas": [_LIST_SCHEMA],
        "totalResults": total,
        "startIndex": start_index,
        "itemsPerPage": len(resources),
        "Resources": list(resources),
    }


def render_error(status: int, detail: str, scim_type: str = "") -> Document:
    """An error (RFC 7644 §3.12)."""
    kind = {"scimType": scim_type} if scim_type else {}
    return {"schemas": [_ERROR_SCHEMA], "status": str(status), **kind, "detail": detail}


def render_configuration(base_url: str) -> Document:
    """Render what this server can do (RFC 7643 §5)."""
    no = {"supported": False}
    return {
        "schemas": [_CONFIG_SCHEMA],
        "patch": {"supported": True},
        "bulk": {"supported": False, "maxOperations": 0, "maxPayloadSize": 0},
        "filter": {"supported": True, "maxResults": MAX_PAGE},
        "changePassword": no,
        "sort": no,
        "etag": no,
        "authenticationSchemes": [
            {
                "type": "oauthbearertoken",
                "name": "OAuth Bearer Token",
                "description": "A SCIM token, which an administrator makes.",
                "specUri": "https://www.rfc-editor.org/info/rfc6750",
                "primary": True,
            }
        ],
        "meta": {"resourceType": "ServiceProviderConfig", "location": f"{base_url}/ServiceProviderConfig"},
    }


def list_resource_types(base_url: str) -> Sequence[Document]:
    """Both kinds of resources (RFC 7643 §6)."""
    return [
        {
            "schemas": [_TYPE_SCHEMA],
            "id": name,
            "name": name,
            "endpoint": f"/{name}s",
            "schema": schema,
            "meta": {"resourceType": "ResourceType", "location": f"{base_url}/ResourceTypes/{name}"},
        }
        for name, schema in (("User", USER_SCHEMA), ("Group", GROUP_SCHEMA))
    ]


def list_schemas(base_url: str) -> Sequence[Document]:
    """The attributes of both that are kept; others are ignored (RFC 7643 §7)."""
    user = [
        _describe("userName", required=True, uniqueness="server"),
        _describe("displayName"),
        _describe("externalId", exact=True),
        _describe("active", "boolean"),
        _describe_complex("name", [_describe(one) for one in ("formatted", "givenName", "familyName")]),
        _describe_complex(
            "emails", [_describe("value"), _describe("type"), _describe("primary", "boolean")], many=True
        ),
    ]
    members = [_describe("value", exact=True), _describe("display")]
    group = [
        _describe("displayName", required=True, uniqueness="server"),
        _describe("externalId", exact=True),
        _describe_complex("members", members, many=True),
    ]
    return [
        {
            "schemas": [_SCHEMA_SCHEMA],
            "id": schema,
            "name": name,
            "description": description,
            "attributes": attributes,
            "meta": {"resourceType": "Schema", "location": f"{base_url}/Schemas/{schema}"},
        }
        for name, schema, description, attributes in (
            ("User", USER_SCHEMA, "A person", user),
            ("Group", GROUP_SCHEMA, "A group of people, which maps to roles", group),
        )
    ]


def _describe(
    name: str, type: str = "string", *, required: bool = False, uniqueness: str = "none", exact: bool = False
) -> dict[str, Any]:
    return {
        "name": name,
        "type": type,
        "multiValued": False,
        "description": name,
        "required": required,
        "caseExact": exact,
        "mutability": "readWrite",
        "returned": "default",
        "uniqueness": uniqueness,
    }


def _describe_complex(name: str, parts: Sequence[Document], *, many: bool = False) -> dict[str, Any]:
    return {**_describe(name, "complex"), "multiValued": many, "subAttributes": list(parts)}


def _render_meta(kind: str, location: str, created: datetime, modified: datetime) -> Document:
    return {
        "resourceType": kind,
        "created": _format_time(created),
        "lastModified": _format_time(modified),
        "location": location,
    }


def _format_time(time: datetime) -> str:
    return time.astimezone(UTC).isoformat().replace("+00:00", "Z")
