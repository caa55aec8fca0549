"""``/leaked``: secret scanners report tokens that they have found in public places."""

from typing import Annotated

from fastapi import Depends, Request
from pydantic import BaseModel, ConfigDict, Field, RootModel, StringConstraints

from broker.web.api.parts import Parts
from core.api.access import allow
from core.api.app import router
from core.api.door import door_of
from core.directory.actor import Actor
from core.secret import Secret

routes = router("tokens")

SCANNER = Actor("secret scanner")
MOST_TOKENS = 100
Found = Annotated[str, StringConstraints(max_length=500)]


class FoundSecret(BaseModel):
    """As GitHub's secret scanning sends it; its other fields are ignored."""

    model_config = ConfigDict(extra="ignore")

    token: Found


class Report(RootModel[list[Found | FoundSecret]]):
    """The tokens, alone or with where they were found."""

    root: list[Found | FoundSecret] = Field(min_length=1, max_length=MOST_TOKENS)

    @property
    def tokens(self) -> set[str]:
        return {one if isinstance(one, str) else one.token for one in self.root}


@routes.post("/leaked", dependencies=[Depends(allow("anyone"))])
async def report_leaked(asked: Report, request: Request, parts: Parts) -> list[str]:
    """Revoke each token of the list that is live. The answer is the same empty list whether any was: whoever holds a
    token can try it, and nobody else learns anything here.
    """
    door_of(request).stranger(request)
    for token in sorted(asked.tokens):
        await parts.tokens.leaked(SCANNER, Secret(token))
    return []
