"""``/leaked``: secret scanners report tokens that they have found in public places."""

from typing import Annotated

from fastapi import Depends, Request
from pydantic import BaseModel, ConfigDict, Field, RootModel, StringConstraints

from broker.api.identity_dependencies import IdentityDeps
from core.api.app import create_router
from core.api.authorization import allow
from core.api.security import get_security
from core.directory.audit_trail import Actor
from core.secret import Secret

routes = create_router("tokens")

SCANNER_ACTOR = Actor("secret scanner")
MAX_REPORTED_TOKENS = 100
LeakedText = Annotated[str, StringConstraints(max_length=500)]


class LeakedSecret(BaseModel):
    """A reported token in the form of GitHub secret scanning; other fields are ignored."""

    model_config = ConfigDict(extra="ignore")

    token: LeakedText = Field(description="The token that was found.")


class LeakReport(RootModel[list[LeakedText | LeakedSecret]]):
    """Reported tokens, as plain text or with details."""

    root: list[LeakedText | LeakedSecret] = Field(min_length=1, max_length=MAX_REPORTED_TOKENS)

    @property
    def tokens(self) -> set[str]:
        return {entry if isinstance(entry, str) else entry.token for entry in self.root}


@routes.post("/leaked", dependencies=[Depends(allow("anyone"))])
async def report_leaked(body: LeakReport, request: Request, parts: IdentityDeps) -> list[str]:
    """Report leaked tokens.

    Every live token of the list is revoked. The response is always an empty list, so that it does not tell which tokens
    were live.
    """
    get_security(request).limit_anonymous(request)
    for token in sorted(body.tokens):
        await parts.tokens.revoke_leaked(SCANNER_ACTOR, Secret(token))
    return []
