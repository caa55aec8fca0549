"""Tools that show content, report what they do, or fail."""

import asyncio

from conformance_fixture.samples import PAUSE_SECONDS, PNG, READ, READS, WAV

from modules.kit import (
    AudioBlock,
    ContentBlock,
    ContentResult,
    Context,
    ImageBlock,
    ResourceBlock,
    ResourceContent,
    TextBlock,
    ToolError,
    tool,
)


def show(*blocks: ContentBlock) -> ContentResult:
    return ContentResult(content=blocks)


def say(text: str) -> ContentResult:
    return show(TextBlock(text=text))


@tool(hints=READS, scopes=READ)
async def simple_text(context: Context) -> ContentResult:
    """Say something."""
    return say("This is a simple text response for testing.")


@tool(hints=READS, scopes=READ)
async def image_content(context: Context) -> ContentResult:
    """Show an image."""
    return show(ImageBlock(data=PNG, mime_type="image/png"))


@tool(hints=READS, scopes=READ)
async def audio_content(context: Context) -> ContentResult:
    """Play a sound."""
    return show(AudioBlock(data=WAV, mime_type="audio/wav"))


@tool(hints=READS, scopes=READ)
async def embedded_resource(context: Context) -> ContentResult:
    """Show a resource."""
    text = "This is an embedded resource content."
    return show(
        ResourceBlock(resource=ResourceContent(uri="test://embedded-resource", mime_type="text/plain", text=text))
    )


@tool(hints=READS, scopes=READ)
async def multiple_content_types(context: Context) -> ContentResult:
    """Show a text, an image and a resource."""
    mixed = ResourceContent(
        uri="test://mixed-content-resource", mime_type="application/json", text='{"test":"data","value":123}'
    )
    image = ImageBlock(data=PNG, mime_type="image/png")
    return show(TextBlock(text="Multiple content types test:"), image, ResourceBlock(resource=mixed))


@tool(hints=READS, scopes=READ)
async def error_handling(context: Context) -> ContentResult:
    """Fail."""
    raise ToolError("This tool intentionally returns an error for testing")


@tool(hints=READS, scopes=READ)
async def tool_with_progress(context: Context) -> ContentResult:
    """Report progress three times."""
    for done in (0, 50, 100):
        await context.report_progress(done, 100, f"{done} of 100")
        await asyncio.sleep(PAUSE_SECONDS)
    return say("The progress was reported.")


@tool(hints=READS, scopes=READ)
async def tool_with_logging(context: Context) -> ContentResult:
    """Send three messages."""
    for text in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await context.send_log("info", text)
    return say("The messages were sent.")


@tool(hints=READS, scopes=READ)
async def logging_tool(context: Context) -> ContentResult:
    """Send a message, which only a client hears that has asked for it."""
    await context.send_log("warning", "A message of the tool")
    return say("A message was sent.")


@tool(hints=READS, scopes=READ)
async def long_text(context: Context) -> ContentResult:
    """Say more than a model should read."""
    return say("\n".join(f"line {number}" for number in range(50_000)))


CONTENT_TOOLS = (
    long_text,
    simple_text,
    image_content,
    audio_content,
    embedded_resource,
    multiple_content_types,
    error_handling,
    tool_with_progress,
    tool_with_logging,
    logging_tool,
)
