"""Prompts, which clients know by these names."""

from collections.abc import Mapping
from typing import Annotated

from conformance_fixture.samples import PNG, READ
from pydantic import BaseModel, Field

from modules.kit import (
    ContentBlock,
    Context,
    FormQuestion,
    ImageBlock,
    PromptMessage,
    PromptMessages,
    ResourceBlock,
    ResourceContent,
    TextBlock,
    build_user_prompt,
    prompt,
)


class ContextForm(BaseModel):
    context: str


def write(*blocks: ContentBlock) -> PromptMessages:
    return PromptMessages(messages=tuple(PromptMessage(content=block) for block in blocks))


async def complete_first(context: Context, typed: str, known: Mapping[str, str]) -> list[str]:
    return [value for value in ("testValue1", "testValue2", "paris") if value.startswith(typed)]


@prompt(scopes=READ)
async def test_simple_prompt(context: Context) -> PromptMessages:
    """A prompt without arguments."""
    return build_user_prompt("This is a simple prompt for testing.")


@prompt(scopes=READ, complete={"arg1": complete_first})
async def test_prompt_with_arguments(
    context: Context,
    arg1: Annotated[str, Field(description="First test argument")],
    arg2: Annotated[str, Field(description="Second test argument")],
) -> PromptMessages:
    """A prompt with two arguments."""
    return build_user_prompt(f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'")


@prompt(scopes=READ)
async def test_prompt_with_embedded_resource(
    context: Context,
    resourceUri: Annotated[str, Field(description="URI of the resource to embed")],  # noqa: N803 the scenario's name
) -> PromptMessages:
    """A prompt with a resource."""
    shown = ResourceContent(uri=resourceUri, mime_type="text/plain", text="Embedded resource content for testing.")
    return write(ResourceBlock(resource=shown), TextBlock(text="Please process the embedded resource above."))


@prompt(scopes=READ)
async def test_prompt_with_image(context: Context) -> PromptMessages:
    """A prompt with an image."""
    return write(ImageBlock(data=PNG, mime_type="image/png"), TextBlock(text="Please analyze the image above."))


@prompt(scopes=READ)
async def test_input_required_result_prompt(context: Context) -> PromptMessages:
    """A prompt that asks for its context."""
    answer = await context.ask(FormQuestion("user_context", "What context should the prompt use?", ContextForm))
    return build_user_prompt(f"Use the context: {answer.context if answer else 'none'}")


PROMPTS = (
    test_simple_prompt,
    test_prompt_with_arguments,
    test_prompt_with_embedded_resource,
    test_prompt_with_image,
    test_input_required_result_prompt,
)
