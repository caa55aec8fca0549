"""Content blocks as they go over the wire ([2025-11-25] ContentBlock, ResourceContents)."""

import base64
from typing import Any

from modules.kit import AudioBlock, ContentBlock, ImageBlock, ResourceBlock, ResourceContent, ResourceLink, TextBlock

_RENAMED = {"mimeType": "mime_type", "blob": "data"}
BLOCK_TYPES = frozenset({"text", "image", "audio", "resource", "resource_link"})


def build_block(block: ContentBlock) -> dict[str, Any]:
    """Build one content block."""
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
    """Parse a content block that was built here."""
    fields = {_RENAMED.get(name, name): value for name, value in block.items()}
    match block["type"]:
        case "text":
            return TextBlock.model_validate(fields)
        case "image":
            return ImageBlock.model_validate(fields)
        case "audio":
            return AudioBlock.model_validate(fields)
        case "resource":
            content = {_RENAMED.get(name, name): value for name, value in block["resource"].items()}
            return ResourceBlock(resource=ResourceContent.model_validate(content))
        case _:
            return ResourceLink.model_validate(fields)


def build_resource_content(content: ResourceContent, uri: str, mime_type: str) -> dict[str, Any]:
    """Build one content of a resource; `uri` and `mime_type` where it has none of its own."""
    head = {"uri": content.uri or uri}
    if chosen := content.mime_type or mime_type:
        head["mimeType"] = chosen
    return head | ({"text": content.text} if content.data is None else {"blob": _encode(content.data)})


def _encode(data: bytes) -> str:
    return base64.b64encode(data).decode()
