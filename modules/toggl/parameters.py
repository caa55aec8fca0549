"""Parameters that several of Toggl's tools share, and the scopes."""

from typing import Annotated

from pydantic import Field

from modules.kit.parameters import OptionalParameter, Positive

READ, WRITE = "toggl:read", "toggl:write"

WorkspaceId = Annotated[
    OptionalParameter[Positive], Field(description="Workspace; default the one that the account works in")
]
