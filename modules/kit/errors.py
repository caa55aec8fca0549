"""Error that a tool raises for its caller."""

OUTCOME_UNKNOWN = "whether the change was made is not known; look before you try again"
"""What is said of a write that may have arrived. Whoever obeyed "try again later" could make the change twice."""


class ToolError(Exception):
    """A failure that the model can do something about; its text is shown to it, so it holds no secret.

    `retry` says when to call again, such as "try again in 30 s". It is shown behind the text, and left out where the
    tool has sent a change before: then the caller is told to look first.
    """

    def __init__(self, text: str, *, retry: str = "") -> None:
        super().__init__(f"{text}; {retry}" if retry else text)
        self.text = text
        self.retry = retry
