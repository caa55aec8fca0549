"""Context of a running tool."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from enum import StrEnum
from typing import Any, Literal, LiteralString, Protocol, TypeVar
from uuid import UUID

from modules.kit.client_questions import ClientQuestion
from modules.kit.collections import Collections
from modules.kit.documents import DocumentStore
from modules.kit.module_log import ModuleLog
from modules.kit.reads import ReadAccess
from modules.kit.settings import ModuleSettings
from modules.kit.vendor import Vendor

Settings = TypeVar("Settings", bound=ModuleSettings)
Answer = TypeVar("Answer")

LogLevel = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
"""Of a message to the client, as in syslog (RFC 5424)."""


class Store(Protocol):
    """The module's own tables inside one transaction. ``$1`` is the caller's tenant, ``$2`` the user; the statement's
    own parameters start at ``$3``. Row-level security lets nothing else through."""

    async def fetch(self, sql: LiteralString, *args: Any) -> Sequence[Any]:
        """Return all rows of one statement."""
        ...

    async def fetchrow(self, sql: LiteralString, *args: Any) -> Any | None:
        """Return the first row, or None."""
        ...

    async def fetchval(self, sql: LiteralString, *args: Any) -> Any:
        """Return the first column of the first row, or None."""
        ...

    async def execute(self, sql: LiteralString, *args: Any) -> int:
        """Run one statement; the number of rows that it touched."""
        ...


class ConfirmationOutcome(StrEnum):
    """What became of a question to the person behind the client. Only `CONFIRMED` is a yes."""

    CONFIRMED = "confirmed"
    DECLINED = "declined"
    NOT_ASKED = "not_asked"


class Context(Protocol):
    """Context of a running tool."""

    @property
    def user_id(self) -> UUID:
        """The person for whom the tool runs."""
        ...

    @property
    def vendor(self) -> Vendor:
        """The module's vendor, with the credential that counts for this caller.

        Raises:
            ToolError: the module has no vendor.
        """
        ...

    def store(self) -> AbstractAsyncContextManager[Store]:
        """Open a transaction on the module's own tables; committed at the end, rolled back on any error."""
        ...

    @property
    def documents(self) -> DocumentStore:
        """The caller's own JSON documents in this module, for a module without tables."""
        ...

    @property
    def collections(self) -> Collections:
        """The module's collections of searched documents."""
        ...

    @property
    def log(self) -> ModuleLog:
        """The module's log."""
        ...

    async def read(self, tool: str, **arguments: Any) -> Any:
        """Run a reading tool of another module that this tool has declared (`reads`), such as
        ``github.get_file_contents``, as the caller would: by their account, permissions, limits and audit log.

        Returns its result as plain JSON data.

        Raises:
            ToolError: the caller may not use it, has no account connected, or it failed.
            RuntimeError: it is not declared.
        """
        ...

    async def check_read(self, tool: str) -> ReadAccess:
        """Check whether the caller may use a reading tool that this tool has declared (`reads`), and whether an account
        is connected for it. Ask before you show what such a tool has read before.

        Raises:
            ToolError: it cannot be told now; another try may help.
            RuntimeError: it is not declared.
        """
        ...

    async def get_time_zone(self) -> str:
        """Return the IANA time zone that the person has set in their profile; "" where they have set none."""
        ...

    async def get_settings(self, form: type[Settings]) -> Settings:
        """Return what an administrator has set for this service, as the `form` that the module declares.

        Raises:
            ToolError: what is stored does not fit the form, such as after an update of the module.
        """
        ...

    async def report_progress(self, done: float, total: float | None = None, message: str = "") -> None:
        """Tell a client that asked for progress how far the work is; costs nothing when none did."""
        ...

    def announce_resource_change(self, uri: str, *, shared: bool = False) -> None:
        """Have clients told that a resource of this module has changed, if they have subscribed to it.

        They are told once the tool has ended, when what it has changed is committed: those of the person for whom it
        runs, and with `shared` those of everybody in the tenant who may read the resource. Nobody learns more than
        `uri`, so a shared one names nothing that only some may know.

        Raises:
            ValueError: `uri` is none of this module's, or one run announces more than 100.
        """
        ...

    async def confirm(self, message: str, *, label: str, instead: str = "") -> ConfirmationOutcome:
        """Have the person behind the client confirm something, on a form with one box to tick, `label` beside it.

        The tool ends here where they have to be asked, and is run from its beginning with their answer: so ask before
        anything is changed, with the same `message` each time. The answer counts for this call with these arguments,
        this message, and ten minutes. `NOT_ASKED` means that the client cannot show a form: say in the result what to
        ask and how to go on. Shorten what comes from elsewhere with `modules.kit.text_cleaning.clean_line`.

        Raises:
            ToolError: within a batch, which does not wait for a person; `instead` is what the error offers beside
                `call`, such as "give confirm_cost '10 USD'".
            ValueError: `message` is longer than 500 characters, or `label` than 100.
            RuntimeError: the tool has changed something already.
        """
        ...

    def can_ask(self, question: ClientQuestion[Any]) -> bool:
        """Check whether the client has said that it can be asked this."""
        ...

    async def ask(self, question: ClientQuestion[Answer]) -> Answer:
        """Ask the client something (:mod:`modules.kit.client_questions`), and return its answer.

        As with :meth:`confirm`, the tool ends here where the client has to be asked, and is run from its beginning with
        the answer; so ask before anything is changed. What was asked before in the same call is answered at once: one
        question may follow from the answer to another. A question whose text has changed meanwhile is asked anew.

        An answer is what the client sends, no proof of what its person said: let nothing that costs or destroys depend
        on it; :meth:`confirm` binds the answer to what was shown.

        Raises:
            ClientCannotAnswer: the client cannot be asked this, or nobody waits who could be.
            RuntimeError: the tool has changed something already.
        """
        ...

    async def ask_all(self, *questions: ClientQuestion[Any]) -> None:
        """Ask several questions at once; :meth:`ask` gives the answer to each of them afterwards.

        Raises:
            ClientCannotAnswer, RuntimeError: see :meth:`ask`.
        """
        ...

    async def send_log(self, level: LogLevel, text: str) -> None:
        """Tell a client that asked for such messages what the tool is doing; costs nothing when none did."""
        ...
