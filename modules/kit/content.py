"""Content blocks of MCP: what a tool shows beside or instead of data, and what prompts and resources are made of
([2025-11-25] Tools, Tool Result; Prompts, PromptMessage; Resources, Resource Contents)."""

from typing import Annotated, Literal

from pydantic import Base64Bytes, BaseModel, ConfigDict, Field, model_validator


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class TextBlock(_Part):
    """A text."""

    type: Literal["text"] = "text"
    text: str


class ImageBlock(_Part):
    """An image; `data` is base64 where it is given as a text."""

    type: Literal["image"] = "image"
    data: Base64Bytes
    mime_type: str


class AudioBlock(_Part):
    """A sound."""

    type: Literal["audio"] = "audio"
    data: Base64Bytes
    mime_type: str


class ResourceContent(_Part):
    """Content of a resource: a text, or the bytes of something else. Without a `uri` it is that which was asked for,
    and without a `mime_type` that of the declaration."""

    uri: str = ""
    mime_type: str = ""
    text: str | None = None
    data: Base64Bytes | None = None

    @model_validator(mode="after")
    def _check_one(self) -> "ResourceContent":
        if (self.text is None) == (self.data is None):
            raise ValueError("a content has either a text or data")
        return self


class ResourceBlock(_Part):
    """A resource with its content; it has a `uri`."""

    type: Literal["resource"] = "resource"
    resource: ResourceContent


class ResourceLink(_Part):
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
