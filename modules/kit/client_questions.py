"""Questions to the client behind a call: a form for its person, a request to its model, or its folders ([2026-07-28]
Multi Round-Trip Requests; Elicitation, Sampling, Roots)."""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar, cast

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError, field_validator

from modules.kit.content import AudioBlock, ImageBlock, TextBlock
from modules.kit.schema import build_json_schema

Form = TypeVar("Form", bound=BaseModel)
Answer_co = TypeVar("Answer_co", covariant=True)

MAX_MESSAGE_LENGTH = 500
MAX_PROMPT_LENGTH = 100_000
_PRIMITIVES = frozenset({"string", "number", "integer", "boolean"})


class InvalidAnswer(Exception):
    """What the client has sent is no answer to its question."""


class ClientQuestion(Protocol[Answer_co]):
    """One question. `key` names it among those of the same tool, whatever its text is; `method` is that of the
    protocol, and `capability` what a client declares that can be asked (the path of its name)."""

    @property
    def key(self) -> str: ...

    @property
    def method(self) -> str: ...

    @property
    def capability(self) -> tuple[str, ...]: ...

    def build_params(self) -> dict[str, Any]:
        """Build the parameters of the request to the client."""
        ...

    def read_answer(self, response: Mapping[str, Any]) -> Answer_co:
        """Read what the client has answered.

        Raises:
            InvalidAnswer: it is no answer; the client is asked again.
        """
        ...


@dataclass(frozen=True, slots=True)
class FormQuestion(Generic[Form]):
    """A form for the person; the answer is the form filled in, or None where they decline. It is flat, and asks for no
    password or key: what they type is seen by their client.

    Raises:
        TypeError: the form is not flat.
        ValueError: the message is empty, or longer than 500 characters.
    """

    key: str
    message: str
    form: type[Form]

    def __post_init__(self) -> None:
        if not 0 < len(self.message) <= MAX_MESSAGE_LENGTH:
            raise ValueError(f"a question to a person has 1 to {MAX_MESSAGE_LENGTH} characters")
        build_form_schema(self.form)

    @property
    def method(self) -> str:
        return "elicitation/create"

    @property
    def capability(self) -> tuple[str, ...]:
        return "elicitation", "form"

    def build_params(self) -> dict[str, Any]:
        """Build the parameters of `elicitation/create`."""
        return {"mode": "form", "message": self.message, "requestedSchema": build_form_schema(self.form)}

    def read_answer(self, response: Mapping[str, Any]) -> Form | None:
        """Read the form.

        Raises:
            InvalidAnswer: it is not filled in as it says.
        """
        if (action := response.get("action")) != "accept":
            if action in ("decline", "cancel"):
                return None
            raise InvalidAnswer("an answer has an action: accept, decline or cancel")
        return _validate(self.form, response.get("content"))


class SamplingMessage(BaseModel):
    """One message of a conversation with the client's model."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    role: str = "user"
    text: str = Field(max_length=MAX_PROMPT_LENGTH)


class SampledMessage(BaseModel):
    """What the client's model has answered."""

    model_config = ConfigDict(frozen=True)

    content: tuple[TextBlock | ImageBlock | AudioBlock, ...]
    model: str
    stop_reason: str = Field("", validation_alias=AliasChoices("stopReason", "stop_reason"))

    @field_validator("content", mode="before")
    @classmethod
    def _read_blocks(cls, value: Any) -> Any:
        blocks = cast("Sequence[Any]", value) if isinstance(value, list | tuple) else (value,)
        return [_rename_mime_type(block) for block in blocks]

    @property
    def text(self) -> str:
        """The texts of the answer."""
        return "\n".join(block.text for block in self.content if isinstance(block, TextBlock))


@dataclass(frozen=True, slots=True)
class SamplingQuestion:
    """A request to the client's model, which its person may see and change."""

    key: str
    messages: tuple[SamplingMessage, ...]
    max_tokens: int
    system_prompt: str = ""

    @property
    def method(self) -> str:
        return "sampling/createMessage"

    @property
    def capability(self) -> tuple[str, ...]:
        return ("sampling",)

    def build_params(self) -> dict[str, Any]:
        """Build the parameters of `sampling/createMessage`."""
        messages = [{"role": one.role, "content": {"type": "text", "text": one.text}} for one in self.messages]
        system = {"systemPrompt": self.system_prompt} if self.system_prompt else {}
        return {"messages": messages, "maxTokens": self.max_tokens, **system}

    def read_answer(self, response: Mapping[str, Any]) -> SampledMessage:
        """Read the message.

        Raises:
            InvalidAnswer: it is none.
        """
        return _validate(SampledMessage, response)


class ClientRoot(BaseModel):
    """A folder or file that the client works on."""

    model_config = ConfigDict(frozen=True)

    uri: str = Field(min_length=1, max_length=2_048)
    name: str = Field("", max_length=1_000)


class _ClientRoots(BaseModel):
    roots: tuple[ClientRoot, ...] = Field(max_length=1_000)


@dataclass(frozen=True, slots=True)
class RootsQuestion:
    """The folders that the client works on."""

    key: str

    @property
    def method(self) -> str:
        return "roots/list"

    @property
    def capability(self) -> tuple[str, ...]:
        return ("roots",)

    def build_params(self) -> dict[str, Any]:
        """Build the parameters of `roots/list`."""
        return {}

    def read_answer(self, response: Mapping[str, Any]) -> tuple[ClientRoot, ...]:
        """Read the folders.

        Raises:
            InvalidAnswer: it is no list of them.
        """
        return _validate(_ClientRoots, response).roots


@functools.cache
def build_form_schema(form: type[BaseModel]) -> dict[str, Any]:
    """Build the schema of a form: texts, numbers, flags, and choices of texts, one below the other.

    Raises:
        TypeError: it has something else.
    """
    schema = build_json_schema(form)
    properties: Mapping[str, Any] = schema.get("properties", {})
    for name, field in properties.items():
        if field.get("type") not in _PRIMITIVES and not _is_choice_of_several(field):
            raise TypeError(f"{form.__name__}.{name}: a form has texts, numbers, flags, and choices of texts")
    required = {"required": list(schema["required"])} if schema.get("required") else {}
    return {"type": "object", "properties": dict(properties), **required}


def _is_choice_of_several(field: Mapping[str, Any]) -> bool:
    return field.get("type") == "array" and "enum" in field.get("items", {})


def _rename_mime_type(block: Any) -> Any:
    if not isinstance(block, Mapping):
        return block
    known = {"type": "type", "text": "text", "data": "data", "mimeType": "mime_type"}
    fields = cast("Mapping[str, Any]", block)
    return {known[name]: value for name, value in fields.items() if name in known}


def _validate(form: type[Form], content: Any) -> Form:
    try:
        return form.model_validate(content)
    except ValidationError:
        raise InvalidAnswer(f"this is no {form.__name__}") from None
