"""What an attacker would write into texts, and every text that the OpenAPI document of the admin API lets one write."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

ATTACKS: Mapping[str, str] = {
    "script": "\"></p><script>alert('a')</script>",
    "handler": "<img src=x onerror=alert(1)>' onclick=alert(2) \"",
    "link": "javascript:alert(3)//<a href='javascript:alert(4)'>x</a>",
    "style": "</style><style>*{display:none}</style>{{7*7}}${7*7}",
    "direction": "invoice\u202efdp.exe \u2066\u2067\u200f\u061c name",
    "word": "W" * 4000,
    "japanese": "株式会社みほん情報処理推進機構" * 300,
    "address": "<img/src=x/onerror=alert(5)>@acme.test",
    "url": "https://acme.test/'onclick=alert(6)/<script>alert(7)</script>",
    "mailbox": '"<img src=x onerror=alert(8)>" <xss@acme.test>',
    "host": "xss" + "w" * 40 + "." + "w" * 60 + ".test",
}
MARK = re.compile(r"\balert\(")

STORED = "stored"
"""One attack at least is taken as it is."""
REFUSED = "refused"
"""The API holds it against more than its schema says: addresses, names of time zones, ids."""
UNSTORED = "unstored"
"""It is used once, or asks a vendor first; nothing of it is shown to anybody."""

FIELDS: Mapping[str, str] = {
    "POST /access-requests message": STORED,
    "POST /access-requests/{request_id}/refusal reason": STORED,
    "POST /audit-stream/test url": UNSTORED,
    "PUT /audit-stream url": STORED,
    "PUT /tenant-keys/{tenant_key_kind} tenant_key_kind": REFUSED,
    "PUT /allow-list/{entry} entry": REFUSED,
    "POST /connect-sessions return_path": UNSTORED,
    "PUT /deployment/client-trust client_metadata_hosts": STORED,
    "POST /deployment/identity-providers/test *": UNSTORED,
    "PUT /deployment/identity-providers/{identity_provider_id} label": STORED,
    "PUT /deployment/identity-providers/{identity_provider_id} client_id": STORED,
    "PUT /deployment/identity-providers/{identity_provider_id} issuer": STORED,
    "PUT /deployment/identity-providers/{identity_provider_id} tenant": REFUSED,
    "PUT /deployment/identity-providers/{identity_provider_id} base_url": REFUSED,
    "PUT /deployment/identity-providers/{identity_provider_id} api_url": REFUSED,
    "PUT /deployment/identity-providers/{identity_provider_id} groups_claim": STORED,
    "PUT /deployment/notification-senders/mail server": STORED,
    "PUT /deployment/notification-senders/mail user": STORED,
    "PUT /deployment/notification-senders/mail sender": STORED,
    "PUT /deployment/notification-senders/mail recipient": UNSTORED,
    "POST /deployment/notification-senders/mail/test *": UNSTORED,
    "PUT /deployment/notification-senders/webhook url": STORED,
    "POST /deployment/notification-senders/webhook/test *": UNSTORED,
    "POST /leaked *": UNSTORED,
    "PATCH /me name": STORED,
    "PATCH /me time_zone": REFUSED,
    "PUT /notification-settings addresses": REFUSED,
    "PUT /oauth-clients client_id": STORED,
    "PUT /oauth-clients settings": REFUSED,
    "POST /oauth/clients name": STORED,
    "POST /oauth/clients redirect_uris": REFUSED,
    "POST /oauth/clients jwks": UNSTORED,
    "POST /oauth/clients tool_exposure": REFUSED,
    "PATCH /oauth/clients/{client_id} tool_exposure": REFUSED,
    "PUT /oauth/issuers issuer": STORED,
    "PUT /oauth/issuers jwks_uri": REFUSED,
    "POST /providers/discover *": UNSTORED,
    "PUT /providers/{provider_id} document": STORED,
    "POST /role-mappings value": STORED,
    "POST /roles name": STORED,
    "POST /roles tool_exposure": REFUSED,
    "PATCH /roles/{role_id} name": STORED,
    "PATCH /roles/{role_id} tool_exposure": REFUSED,
    "POST /schedules *": UNSTORED,  # by a page, which makes none; test_schedules.py shows the title of a script
    "PATCH /schedules/{schedule_id} *": UNSTORED,  # as above
    "POST /scim-tokens name": STORED,
    "PATCH /services/{module} settings": UNSTORED,
    "PUT /services/{module}/credential username": UNSTORED,
    "PUT /services/{module}/credential provider": UNSTORED,
    "PUT /services/{module}/oauth-client client_id": STORED,
    "PUT /services/{module}/oauth-client settings": REFUSED,
    "PATCH /tenant name": STORED,
    "POST /tenants name": STORED,
    "POST /tenants administrator": REFUSED,
    "PATCH /tenants/{tenant_id} name": STORED,
    "POST /tokens name": STORED,
    "POST /tokens tool_exposure": REFUSED,
    "POST /users email": REFUSED,
    "POST /users name": STORED,
    "PATCH /users/{user_id} name": STORED,
}


@dataclass(frozen=True, slots=True)
class TextField:
    """A text of an operation's body or path that takes an attack; `operation` is a key of :data:`FIELDS` without the
    field, `most` the characters that it takes."""

    operation: str
    name: str
    most: int
    is_list: bool
    is_free: bool
    """It is a document of any form."""

    @property
    def key(self) -> str:
        return f"{self.operation} {self.name}"

    def cut(self, attack: str) -> str:
        return attack[: self.most]


def find_text_fields(document: Mapping[str, Any]) -> Iterator[TextField]:
    """Every text that an operation lets one write, secrets and what no attack fits into left out."""
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            if method in ("get", "head", "delete"):
                continue
            name = f"{method.upper()} {path.removeprefix('/api/v1')}"
            for parameter in operation.get("parameters", ()):
                if parameter["in"] == "path":
                    yield from _find_in(document, parameter["schema"], name, parameter["name"])
            for content in operation.get("requestBody", {}).get("content", {}).values():
                yield from _find_in(document, content["schema"], name, "")


def _find_in(
    document: Mapping[str, Any], schema: Mapping[str, Any], operation: str, name: str, is_list: bool = False
) -> Iterator[TextField]:
    if "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    for choice in (*schema.get("anyOf", ()), *schema.get("oneOf", ()), *schema.get("allOf", ())):
        yield from _find_in(document, choice, operation, name, is_list)
    if schema.get("type") == "array":
        yield from _find_in(document, schema["items"], operation, name, is_list=True)
    elif schema.get("type") == "object" or "properties" in schema:
        for field, inner in schema.get("properties", {}).items():
            yield from _find_in(document, inner, operation, name or field)
        if name and not schema.get("properties"):
            yield TextField(operation, name, 200, is_list, is_free=True)
    elif schema.get("type") == "string" and _takes_attack(schema):
        yield TextField(operation, name or "*", schema.get("maxLength", 4000), is_list, is_free=False)


def _takes_attack(schema: Mapping[str, Any]) -> bool:
    if "enum" in schema or "const" in schema or schema.get("format") in ("password", "uuid", "date-time"):
        return False
    most, pattern = schema.get("maxLength", 4000), schema.get("pattern", "")
    texts = [text[:most] for name, text in ATTACKS.items() if name != "host"]
    return any(re.search(pattern, text) for text in texts)


def find_kind(key: str) -> str | None:
    """What becomes of a field; None for one that nobody has thought of."""
    return FIELDS.get(key) or FIELDS.get(f"{key.rpartition(' ')[0]} *")
