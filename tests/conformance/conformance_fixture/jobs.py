"""Tools that are run as tasks. The scenarios know them by names without the module's, which are aliases here."""

import asyncio
from typing import Annotated

from conformance_fixture.content import say
from conformance_fixture.questions import NAME, NameForm
from conformance_fixture.samples import READ, READS, WRITE, WRITES
from pydantic import BaseModel, Field

from modules.kit import ContentResult, Context, Execution, FormQuestion, ToolError, tool


class ConfirmationForm(BaseModel):
    confirm: bool


@tool(hints=READS, scopes=READ, aliases=["greet"])
async def say_greeting(context: Context, name: Annotated[str, Field(description="Whom to greet")]) -> ContentResult:
    """Greet somebody, at once."""
    return say(f"Hello, {name}!")


@tool(hints=READS, scopes=READ, aliases=["slow_compute"], execution=Execution.ASYNC)
async def compute_slowly(
    context: Context,
    seconds: Annotated[float, Field(description="For how long", ge=0, le=600)] = 1,
    label: Annotated[str, Field(description="Of the result")] = "",
) -> ContentResult:
    """Compute for a while."""
    await asyncio.sleep(seconds)
    return say(f"computed {label} for {seconds:g} s")


@tool(hints=READS, scopes=READ, aliases=["failing_job"], execution=Execution.ASYNC)
async def fail_slowly(context: Context) -> ContentResult:
    """Fail after a while."""
    await asyncio.sleep(1)
    raise ToolError("This job always fails")


@tool(hints=READS, scopes=READ, aliases=["protocol_error_job"], execution=Execution.ASYNC)
async def break_down(context: Context) -> ContentResult:
    """Return what cannot be stored as JSON: the task fails, not its tool."""
    return say("\ud800")


@tool(hints=WRITES, scopes=WRITE, aliases=["confirm_delete"], execution=Execution.ASYNC)
async def delete_if_confirmed(
    context: Context, filename: Annotated[str, Field(description="What to delete")]
) -> ContentResult:
    """Delete a file, once the user agrees."""
    answer = await context.ask(FormQuestion("deletion", "Delete the file?", ConfirmationForm))
    return say(f"deleted {filename}" if answer and answer.confirm else "kept")


@tool(hints=READS, scopes=READ, aliases=["multi_input"], execution=Execution.ASYNC)
async def ask_twice(context: Context) -> ContentResult:
    """Ask for two names at once."""
    first, second = FormQuestion("first", "Who?", NameForm), FormQuestion("second", "And who else?", NameForm)
    await context.ask_all(first, second)
    names = [await context.ask(question) for question in (first, second)]
    return say(" and ".join(answer.name for answer in names if answer))


@tool(hints=READS, scopes=READ, execution=Execution.ASYNC, asks=True)
async def tool_with_task(context: Context) -> ContentResult:
    """Ask for a name before the work that takes long."""
    answer = await context.ask(NAME)
    return say(f"worked for {answer.name if answer else 'nobody'}")


JOB_TOOLS = (
    say_greeting,
    compute_slowly,
    fail_slowly,
    break_down,
    delete_if_confirmed,
    ask_twice,
    tool_with_task,
)
