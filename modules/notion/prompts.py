"""Prompts for work in Notion."""

from typing import Annotated

from pydantic import Field

from modules.kit import Context, PromptMessages, build_user_prompt, prompt, quote_argument
from modules.kit.completions import complete_from
from modules.kit.parameters import Title

_NEW_TASK = """\
Create a task in Notion for the project {project} with the priority {priority}.

1. If it is not clear from our conversation what the task is, ask me for it before you do anything else.
2. Find the database in which this project's tasks are kept. Search by the project's name first, then for a database of
   tasks that has a column for projects. If several fit, show me their titles and ask; if none does, say so and stop.
3. Read its columns before you write, and use only values that its select and status columns have. Take the option that
   means this priority, even if it is called otherwise there ("P1", "高"). Leave a column empty rather than guess: no
   invented due date, no assignee whom I have not named.
4. Look for an open task of the same meaning. If there is one, show it to me and ask whether to go on.
5. Write a title that begins with a verb and says what is done when it is done. Put into the page: the context in two or
   three sentences, what counts as done as a checklist, and links to what we spoke of.
6. Create it once, and give me its address and the values that you set.

Write in the language in which the other tasks of that database are written."""


@prompt(
    title="Create a task in Notion",
    complete={"priority": complete_from("High", "Medium", "Low")},
)
async def notion_create_task(
    context: Context,
    project: Annotated[Title, Field(description="Name of the project")],
    priority: Annotated[Title, Field(description="Priority, such as High")],
) -> PromptMessages:
    """Create a well described task in the database of a project."""
    return build_user_prompt(_NEW_TASK.format(project=quote_argument(project), priority=quote_argument(priority)))


PROMPTS = (notion_create_task,)
