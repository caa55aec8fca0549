"""Prompts for work in Jira."""

from typing import Annotated

from pydantic import Field

from modules.kit import Context, PromptMessages, build_user_prompt, prompt, quote_argument
from modules.kit.completions import complete_from
from modules.kit.parameters import Title

_BUG_REPORT = """\
File a bug in Jira. Severity: {severity}. Component: {component}.

1. Gather from our conversation: what was done, what was expected, what happened instead, since when, where (version,
   environment, browser or device), how often, who is hit, and whether there is a way around it. Ask me once, in one
   message, for what is missing and matters; do not make anything up.
2. Find the project and look at the fields that a bug has there. Use the component and the severity or priority as they
   are called in that project ("Critical", "P1", "重大"); if none fits, show me what there is and ask.
3. Search for the same bug, open or closed lately, by the words of the error and by what is broken. If there is one,
   show it to me; adding to it is better than a second one.
4. Write a summary that says what is broken and when, without "bug" or "problem" in it. Write the description with these
   parts, and leave out a part for which there is nothing: steps to reproduce (numbered, from a known state), expected,
   actual, environment, evidence (messages and logs as code, only the lines that matter, without passwords, tokens and
   personal data), impact, workaround.
5. State facts as facts and guesses at the cause as guesses, apart from each other.
6. Show me the draft. When I agree, create it once, and give me its key and address.

Write in the language in which the other issues of that project are written."""


@prompt(
    title="Report a bug in Jira",
    complete={"severity": complete_from("Blocker", "Critical", "Major", "Minor", "Trivial")},
)
async def jira_bug_report(
    context: Context,
    severity: Annotated[Title, Field(description="Severity, such as Critical")],
    component: Annotated[Title, Field(description="Component that is broken")],
) -> PromptMessages:
    """File a bug that somebody else can reproduce."""
    return build_user_prompt(_BUG_REPORT.format(severity=quote_argument(severity), component=quote_argument(component)))


PROMPTS = (jira_bug_report,)
