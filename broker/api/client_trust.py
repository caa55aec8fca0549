"""``/deployment/client-trust``: which clients come in that no administrator has registered; for the operator."""

from datetime import datetime
from typing import Annotated, Literal

from fastapi import Response
from pydantic import Field, StringConstraints

from broker.api.deployment_dependencies import DeploymentDependencies, DeploymentDeps
from broker.authorization_server.client_trust import ClientTrustOverview
from broker.identity.settings import MAX_TRUSTED_HOSTS
from core.api.app import create_router
from core.api.dependencies import OperatorRead, RecentlySignedInOperator
from core.api.schemas import NO_CONTROL_CHARACTERS, RequestModel, ResponseModel
from core.api.versions import ExpectedVersion, describe_conflict, set_version

routes = create_router("deployment")

Host = Annotated[str, StringConstraints(min_length=1, max_length=253, pattern=NO_CONTROL_CHARACTERS)]
DYNAMIC_TEXT = "Let clients register themselves (RFC 7591); whoever finds the address can."
HOSTS_TEXT = (
    "Hosts whose client ID metadata documents are accepted, in which `*` stands for any letters; empty for none."
)


class ClientTrustView(ResponseModel):
    """The trust in clients that counts now."""

    dynamic_registration: bool = Field(description=DYNAMIC_TEXT)
    client_metadata_hosts: list[str] = Field(description=HOSTS_TEXT)
    source: Literal["file", "database", "default"] = Field(
        description="Place of the trust: `file` for identity.toml, which can only be changed there."
    )
    updated_at: datetime | None = Field(description="Time of the latest change; null if nothing is stored.")
    in_effect: bool = Field(
        description="False where another authorization server lets clients in (`external` of identity.toml), which "
        "knows nothing of this trust."
    )


class ClientTrustUpdate(RequestModel):
    """A trust in clients to store."""

    dynamic_registration: bool = Field(description=DYNAMIC_TEXT)
    client_metadata_hosts: Annotated[list[Host], Field(max_length=MAX_TRUSTED_HOSTS)] = Field(description=HOSTS_TEXT)


@routes.get("/deployment/client-trust")
async def show_client_trust(caller: OperatorRead, parts: DeploymentDeps, response: Response) -> ClientTrustView:
    """Get the trust in clients that nobody has registered.

    The ETag is that of what is stored, `"v0"` if nothing is.
    """
    overview = await parts.client_trust.get()
    set_version(response, overview.version)
    return _build_view(overview, parts)


@routes.put("/deployment/client-trust")
async def put_client_trust(
    body: ClientTrustUpdate,
    caller: RecentlySignedInOperator,
    parts: DeploymentDeps,
    response: Response,
    expected_version: ExpectedVersion,
) -> ClientTrustView:
    """Store the trust in clients that nobody has registered.

    It lets programs ask people of all tenants for access, so a sign-in within the last ten minutes is required. It
    counts within a second, on every process; what a client that is no longer trusted has got ends with its access
    token, within an hour.
    """

    async def load_state() -> ClientTrustView:
        return _build_view(await parts.client_trust.get(), parts)

    saving = parts.client_trust.put(
        caller.actor, body.dynamic_registration, body.client_metadata_hosts, expected_version=expected_version
    )
    saved = await describe_conflict(saving, load_state)
    set_version(response, saved.version)
    return _build_view(saved, parts)


@routes.delete("/deployment/client-trust", status_code=204)
async def remove_client_trust(caller: RecentlySignedInOperator, parts: DeploymentDeps) -> None:
    """Go back to the default trust in clients, or to that of identity.toml.

    By default documents of every host are accepted, and no client registers itself. That may be more than what is
    stored, so a sign-in within the last ten minutes is required.
    """
    await parts.client_trust.remove(caller.actor)


def _build_view(overview: ClientTrustOverview, parts: DeploymentDependencies) -> ClientTrustView:
    return ClientTrustView(
        dynamic_registration=overview.trust.dynamic_registration,
        client_metadata_hosts=list(overview.trust.client_metadata_hosts),
        source=overview.source,
        updated_at=overview.updated_at,
        in_effect=parts.has_own_authorization_server,
    )
