"""How a tool says that something went wrong."""


class ToolError(Exception):
    """A failure that the model can do something about; its text is shown to it, so it holds no secret."""
