"""Tools that ask the client something."""

from typing import Annotated, Literal

from conformance_fixture.content import say
from conformance_fixture.samples import READ, READS
from pydantic import BaseModel, Field

from modules.kit import (
    ClientQuestion,
    ContentResult,
    Context,
    FormQuestion,
    RootsQuestion,
    SampledMessage,
    SamplingMessage,
    SamplingQuestion,
    tool,
)


class NameForm(BaseModel):
    name: str


class ColorForm(BaseModel):
    color: str


class AgreementForm(BaseModel):
    ok: bool


class UserForm(BaseModel):
    username: str = Field(description="User's response")
    email: str = Field(description="User's email address")


class DefaultsForm(BaseModel):
    name: str = "John Doe"
    age: int = 30
    score: float = 95.5
    status: Literal["active", "inactive", "pending"] = "active"
    verified: bool = True


class ChoicesForm(BaseModel):
    single: Literal["option1", "option2", "option3"]
    several: list[Literal["option1", "option2", "option3"]] = Field(max_length=3)


NAME = FormQuestion("user_name", "What is your name?", NameForm)
GREETING = SamplingQuestion("greeting", (SamplingMessage(text="Generate a greeting"),), max_tokens=50)
ROOTS = RootsQuestion("client_roots")
AGREEMENT = FormQuestion("confirm", "Please confirm", AgreementForm)


@tool(hints=READS, scopes=READ)
async def sampling(
    context: Context, prompt: Annotated[str, Field(description="What to ask the client's model")]
) -> ContentResult:
    """Ask the client's model."""
    return say(f"LLM response: {(await ask_model(context, 'prompt', prompt)).text}")


@tool(hints=READS, scopes=READ)
async def elicitation(
    context: Context, message: Annotated[str, Field(description="What to ask the user", max_length=500)]
) -> ContentResult:
    """Ask the user."""
    return say(f"User response: {await context.ask(FormQuestion('user', message, UserForm))}")


@tool(hints=READS, scopes=READ)
async def elicitation_sep1034_defaults(context: Context) -> ContentResult:
    """Ask the user with values that are filled in."""
    return say(f"Elicitation completed: {await context.ask(FormQuestion('defaults', 'Review this', DefaultsForm))}")


@tool(hints=READS, scopes=READ)
async def elicitation_sep1330_enums(context: Context) -> ContentResult:
    """Ask the user to choose."""
    return say(f"Elicitation completed: {await context.ask(FormQuestion('choices', 'Choose', ChoicesForm))}")


@tool(hints=READS, scopes=READ)
async def missing_capability(context: Context) -> ContentResult:
    """Ask the client's model, whether or not there is one."""
    return say((await ask_model(context, "needed", "Hello")).text)


@tool(hints=READS, scopes=READ)
async def streaming_elicitation(context: Context) -> ContentResult:
    """Report progress, and ask the user where that is possible."""
    await context.report_progress(1, 2, "before the question")
    if not context.can_ask(NAME):
        return say("The user cannot be asked.")
    return say(f"{await context.ask(NAME)}")


@tool(hints=READS, scopes=READ)
async def input_required_result_elicitation(context: Context) -> ContentResult:
    """Greet the user by their name."""
    answer = await context.ask(NAME)
    return say(f"Hello, {answer.name}!" if answer else "Hello!")


@tool(hints=READS, scopes=READ)
async def input_required_result_sampling(context: Context) -> ContentResult:
    """Have the client's model answer a question."""
    return say((await ask_model(context, "capital_question", "What is the capital of France?")).text)


@tool(hints=READS, scopes=READ)
async def input_required_result_list_roots(context: Context) -> ContentResult:
    """List the client's folders."""
    return say(", ".join(root.uri for root in await context.ask(ROOTS)))


@tool(hints=READS, scopes=READ)
async def input_required_result_request_state(context: Context) -> ContentResult:
    """Ask the user; what was asked comes back with the answer."""
    answer = await context.ask(AGREEMENT)
    return say(f"state-ok: {answer is not None and answer.ok}")


@tool(hints=READS, scopes=READ)
async def input_required_result_tampered_state(context: Context) -> ContentResult:
    """Ask the user; an answer with a changed state is refused before the tool."""
    answer = await context.ask(AGREEMENT)
    return say(f"state-ok: {answer is not None and answer.ok}")


@tool(hints=READS, scopes=READ)
async def input_required_result_multiple_inputs(context: Context) -> ContentResult:
    """Ask the user, the client's model, and for the client's folders, at once."""
    await context.ask_all(NAME, GREETING, ROOTS)
    name, greeting, roots = await context.ask(NAME), await context.ask(GREETING), await context.ask(ROOTS)
    return say(f"{greeting.text} {name.name if name else 'nobody'}, {len(roots)} roots")


@tool(hints=READS, scopes=READ)
async def input_required_result_multi_round(context: Context) -> ContentResult:
    """Ask the user twice, one question after the other."""
    name = await context.ask(FormQuestion("step1", "Step 1: What is your name?", NameForm))
    color = await context.ask(FormQuestion("step2", "Step 2: What is your favorite color?", ColorForm))
    return say(f"{name.name if name else 'Nobody'} likes {color.color if color else 'nothing'}.")


@tool(hints=READS, scopes=READ)
async def input_required_result_capabilities(context: Context) -> ContentResult:
    """Ask what the client says that it can be asked, and nothing else."""
    questions: list[ClientQuestion[object]] = [one for one in (NAME, GREETING, ROOTS) if context.can_ask(one)]
    await context.ask_all(*questions)
    return say(f"{len(questions)} questions were answered.")


async def ask_model(context: Context, key: str, text: str) -> SampledMessage:
    return await context.ask(SamplingQuestion(key, (SamplingMessage(text=text),), max_tokens=100))


QUESTION_TOOLS = (
    sampling,
    elicitation,
    elicitation_sep1034_defaults,
    elicitation_sep1330_enums,
    missing_capability,
    streaming_elicitation,
    input_required_result_elicitation,
    input_required_result_sampling,
    input_required_result_list_roots,
    input_required_result_request_state,
    input_required_result_tampered_state,
    input_required_result_multiple_inputs,
    input_required_result_multi_round,
    input_required_result_capabilities,
)
