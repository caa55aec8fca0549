"""Content blocks of MCP: what a tool shows beside or instead of data, and what prompts and resources are made of
([2025-11-25] Tools, Tool Result; Prompts, PromptMessage; Resources, Resource Contents)."""

import base64
import binascii
from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, model_validator


def _decode(data: Any) -> Any:
    if not isinstance(data, str):
        return data
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("a text here is base64") from None


def _encode(data: bytes) -> str:
    return base64.b64encode(data).decode()


Blob = Annotated[bytes, BeforeValidator(_decode), PlainSerializer(_encode, return_type=str, when_used="json")]
"""Bytes; a text is taken for base64."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Annotations(_Part):
    """Hints for the client: for whom something is, how important from 0 to 1, and when it was last changed."""

    audience: tuple[Literal["user", "assistant"], ...] = ()
    priority: Annotated[float, Field(ge=0, le=1)] | None = None
    last_modified: AwareDatetime | None = None


NO_ANNOTATIONS = Annotations()
FOR_MODELS = Annotations(audience=("assistant",))
FOR_EVERYONE = Annotations(audience=("user", "assistant"))


class _Block(_Part):
    annotations: Annotations = NO_ANNOTATIONS


class TextBlock(_Block):
    """A text."""

    type: Literal["text"] = "text"
    text: str


class ImageBlock(_Block):
    """An image."""

    type: Literal["image"] = "image"
    data: Blob
    mime_type: str


class AudioBlock(_Block):
    """A sound."""

    type: Literal["audio"] = "audio"
    data: Blob
    mime_type: str


class ResourceContent(_Part):
    """Content of a resource: a text, or the bytes of something else. Without a `uri` it is that which was asked for,
    and without a `mime_type` that of the declaration."""

    uri: str = ""
    mime_type: str = ""
    text: str | None = None
    data: Blob | None = None

    @model_validator(mode="after")
    def _check_one(self) -> "ResourceContent":
        if (self.text is None) == (self.data is None):
            raise ValueError("a content has either a text or data")
        return self


class ResourceBlock(_Block):
    """A resource with its content; it has a `uri`."""

    type: Literal["resource"] = "resource"
    resource: ResourceContent


class ResourceLink(_Block):
    """A resource that the client may read."""

    type: Literal["resource_link"] = "resource_link"
    uri: str
    name: str
    title: str = ""
    description: str = ""
    mime_type: str = ""


ContentBlock = Annotated[
    TextBlock | ImageBlock | AudioBlock | ResourceBlock | ResourceLink, Field(discriminator="type")
]


class ContentResult(BaseModel):
    """Result of a tool that shows `content` instead of data: it has no structured part."""

    content: tuple[ContentBlock, ...]
