"""Content blocks as they go over the wire ([2025-11-25] ContentBlock, ResourceContents, Annotations)."""

import base64
from datetime import UTC
from typing import Any

from modules.kit import (
    Annotations,
    AudioBlock,
    ContentBlock,
    ImageBlock,
    ResourceBlock,
    ResourceContent,
    ResourceLink,
    TextBlock,
)
from modules.kit.untrusted import UNTRUSTED

BLOCK_TYPES = frozenset({"text", "image", "audio", "resource", "resource_link"})
_FIELDS = {"mimeType": "mime_type", "blob": "data", "lastModified": "last_modified"}
UNTRUSTED_META = {"_meta": {"mcpist/untrusted": UNTRUSTED}}
"""Field of what others have written, for clients: models are told only where a text may stand before it."""


def build_block(block: ContentBlock, *, is_untrusted: bool = False) -> dict[str, Any]:
    """Build one content block. One that `is_untrusted` has the mark, unless it is a text: a module's texts are its own,
    and what a vendor has answered stands in them as a resource."""
    meta = UNTRUSTED_META if is_untrusted and not isinstance(block, TextBlock) else {}
    return _build_block(block) | build_annotations(block.annotations) | meta


def build_annotations(annotations: Annotations) -> dict[str, Any]:
    """Build the field of what is annotated; nothing where nothing is said."""
    said: dict[str, Any] = {}
    if annotations.audience:
        said["audience"] = list(annotations.audience)
    if annotations.priority is not None:
        said["priority"] = annotations.priority
    if annotations.last_modified is not None:
        said["lastModified"] = annotations.last_modified.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"annotations": said} if said else {}


def _build_block(block: ContentBlock) -> dict[str, Any]:
    match block:
        case TextBlock():
            return {"type": "text", "text": block.text}
        case ImageBlock() | AudioBlock():
            return {"type": block.type, "data": _encode(block.data), "mimeType": block.mime_type}
        case ResourceBlock():
            return {"type": "resource", "resource": build_resource_content(block.resource, block.resource.uri, "")}
        case _:
            fields = {"title": block.title, "description": block.description, "mimeType": block.mime_type}
            given = {name: value for name, value in fields.items() if value}
            return {"type": "resource_link", "uri": block.uri, "name": block.name, **given}


def parse_block(block: dict[str, Any]) -> ContentBlock:
    """Parse a content block that was built here, without its mark."""
    fields = _rename_fields(block)
    match block["type"]:
        case "text":
            return TextBlock.model_validate(fields)
        case "image":
            return ImageBlock.model_validate(fields)
        case "audio":
            return AudioBlock.model_validate(fields)
        case "resource":
            return ResourceBlock.model_validate(fields | {"resource": _rename_fields(block["resource"])})
        case _:
            return ResourceLink.model_validate(fields)


def _rename_fields(built: dict[str, Any]) -> dict[str, Any]:
    fields = {_FIELDS.get(name, name): value for name, value in built.items() if name != "_meta"}
    if "annotations" in fields:
        fields["annotations"] = _rename_fields(fields["annotations"])
    return fields


def build_resource_content(content: ResourceContent, uri: str, mime_type: str) -> dict[str, Any]:
    """Build one content of a resource; `uri` and `mime_type` where it has none of its own."""
    head = {"uri": content.uri or uri}
    if chosen := content.mime_type or mime_type:
        head["mimeType"] = chosen
    return head | ({"text": content.text} if content.data is None else {"blob": _encode(content.data)})


def _encode(data: bytes) -> str:
    return base64.b64encode(data).decode()
