"""Record of changes that a request may have made, so that none of its errors suggests a retry after one."""

import contextlib
from collections.abc import AsyncGenerator, Generator
from contextlib import AbstractAsyncContextManager

import msgspec

from modules.kit import Store, ToolError, VendorProblem


class ChangeTracker(msgspec.Struct, eq=False):
    """Counts of one tool's run, or of a whole request: what a run counts, its request (`_of`) counts too.

    `sent`: writes that a vendor has taken, or may have taken. `stored`: transactions on the module's own tables whose
    COMMIT was sent.
    """

    _of: "ChangeTracker | None" = None
    sent: int = 0
    stored: int = 0

    def __bool__(self) -> bool:
        return bool(self.sent or self.stored)

    def add(self, *, sent: int = 0, stored: int = 0) -> None:
        """Add to the counts."""
        self.sent += sent
        self.stored += stored
        if self._of is not None:
            self._of.add(sent=sent, stored=stored)

    def require_may_act(self) -> None:
        """Go on only if changes may still be made: a job's may not, once another worker may run it.

        Raises:
            ToolError: they may not.
        """
        if self._of is not None:
            self._of.require_may_act()

    @contextlib.contextmanager
    def track_vendor_write(self) -> Generator[None]:
        """Count one write to a vendor from its beginning, until it is known to be refused."""
        self.add(sent=1)
        try:
            yield
        except ToolError as problem:
            if not (isinstance(problem, VendorProblem) and problem.unknown):
                self.add(sent=-1)
            raise

    @contextlib.asynccontextmanager
    async def track_transaction(self, transaction: AbstractAsyncContextManager[Store]) -> AsyncGenerator[Store]:
        """Count a transaction from the moment in which its COMMIT is sent."""
        async with transaction as store:
            yield store
            self.require_may_act()
            self.add(stored=1)
