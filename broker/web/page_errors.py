"""Problems that a person reads on a page, in their own language."""

from core.errors import MCPistError


class PageError(MCPistError):
    """Error shown as a page; its key selects the texts ``problem.<key>.title``, ``.text`` and ``.do`` (what to do
    next).

    `args` fill the placeholders of those texts; they are escaped, and shown as untrusted names are.
    """

    def __init__(self, key: str, status: int = 400, **args: str) -> None:
        super().__init__(f"the request was refused: {key}")
        self.key = key
        self.http_status = status
        self.words = args
