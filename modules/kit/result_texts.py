"""A result's own text: what stands in the text part of a call's result, in place of the JSON of the whole
(docs/decisions/0079-a-results-own-text.md).

A diff, a log or a page reads better as it is, and in JSON each of its line breaks and quotation marks costs an escape::

    class Log(TextResult):
        text_field = "text"

        size: int
        text: str

The text part is then the other fields as one line of JSON, the mark of texts of strangers, and the log. The structured
part has every field, as that of any result.
"""

from typing import ClassVar

from modules.kit.results import ResultModel
from modules.kit.text_cleaning import clean_text
from modules.kit.untrusted import UNTRUSTED

MAX_TEXT_CHARACTERS = 100_000
"""Of a result's own text. A longer one is shown as the JSON of the result, of which nothing is missing."""


class TextResult(ResultModel):
    """A result with a text of its own: by default the field `text_field`. A module that writes another text overrides
    :meth:`format_text`, and shows in it all that the field says. With `is_complete` nothing stands before it: it shows
    the other fields too, and marks what strangers wrote (modules.kit.untrusted)."""

    text_field: ClassVar[str]
    is_complete: ClassVar[bool] = False

    def format_text(self) -> str:
        """Format the field `text_field`; empty where the result is better shown as JSON."""
        text = getattr(self, self.text_field)
        return text if isinstance(text, str) else ""


def build_result_text(result: TextResult) -> str | None:
    """Build the text part of a result; None where it is the JSON of the result, as for all others."""
    own = result.format_text()
    if not own or len(own) > MAX_TEXT_CHARACTERS:
        return None
    if result.is_complete:
        return clean_text(own)
    head = result.__pydantic_serializer__.to_json(result, by_alias=True, exclude={result.text_field}).decode()
    return f"{head}\n{UNTRUSTED}\n\n{clean_text(own)}"
