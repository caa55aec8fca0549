"""``/roles/{role_id}/model-view`` and ``/users/{user_id}/model-view``: what a model is shown, and what it costs.

The tool sieve's own function makes it, with the definitions that ``/mcp`` serves.
"""

import asyncio
from typing import Any

import orjson
from pydantic import Field

from admin_ui.api.admin_dependencies import AdminDependencies, AdminDeps
from admin_ui.api.tool_catalogue import ModelView
from core.api.app import create_router
from core.api.dependencies import AdminRead, RolePath, UserPath
from core.api.schemas import ResponseModel
from core.directory.roles import get_role
from core.directory.users import get_user
from core.module_manifest import CapabilityKind
from core.permissions import Policy
from core.policy_loader import load_policy_of_role, load_policy_of_user
from core.token_estimate import estimate_tokens

routes = create_router("model-views")


class ModelViewModule(ResponseModel):
    """A module as a model is shown it."""

    module: str = Field(description="Name of the module.")
    tools: list[str] = Field(description="Names of the tools that exist for the model.")
    estimated_tokens: int = Field(description="Estimate of the tokens of the schemas that get_module_schema answers.")


class OfferedResourceView(ResponseModel):
    """A resource that a client can attach to a chat."""

    module: str = Field(description="Name of the module.")
    name: str = Field(description="Name of the resource.")
    uri: str = Field(description="URI template of the resource.")


class OfferedPromptView(ResponseModel):
    """A prompt that a client can offer to its person."""

    module: str = Field(description="Name of the module.")
    name: str = Field(description="Name of the prompt.")


class ModelViewResult(ResponseModel):
    """Everything that a model is shown, with its cost in tokens.

    Tokens are an estimate, fitted to the o200k encoding; models differ by some percent.
    """

    instructions: str = Field(description="Instructions that a client may put before its model.")
    tool_exposure: str = Field(
        description="Exposure of tools by the roles, such as `plain:github`; a client's setting or URL overrides it."
    )
    definitions: list[dict[str, Any]] = Field(
        description="Definitions of the meta-tools that a client loads at its start; none in a plain view alone."
    )
    plain_tools: list[str] = Field(
        description="Names of the plain tools that a client is shown; where the roles show none, of all those that a "
        "client can ask for. Those for long results and jobs are left out."
    )
    estimated_plain_tokens: int = Field(description="Estimate of the tokens of the definitions of `plain_tools`.")
    modules: list[ModelViewModule] = Field(description="Modules and tools that exist for the model; all others do not.")
    tool_count: int = Field(description="Number of tools that exist for the model.")
    resources: list[OfferedResourceView] = Field(description="Resources that the person of the model can attach.")
    prompts: list[OfferedPromptView] = Field(description="Prompts that the person of the model can choose.")
    estimated_start_tokens: int = Field(
        description="Estimate of the tokens that are loaded at the start: instructions, definitions and the plain "
        "tools of `tool_exposure`."
    )
    estimated_schema_tokens: int = Field(description="Estimate of the tokens if the schemas of all modules are read.")


@routes.get("/roles/{role_id}/model-view")
async def show_model_view_of_role(role_id: RolePath, caller: AdminRead, dependencies: AdminDeps) -> ModelViewResult:
    """Get what a model is shown for a role.

    For a user with this role alone.
    """
    await get_role(dependencies.console, caller.tenant_id, role_id)
    async with dependencies.console.tenant(caller.tenant_id) as work:
        policy = await load_policy_of_role(work, role_id)
    return await _build_result(dependencies, policy)


@routes.get("/users/{user_id}/model-view")
async def show_model_view_of_user(user_id: UserPath, caller: AdminRead, dependencies: AdminDeps) -> ModelViewResult:
    """Get what a model is shown for a user.

    By all of the user's roles. Credentials that only read are shown less.
    """
    await get_user(dependencies.console, caller.tenant_id, user_id)
    async with dependencies.console.tenant(caller.tenant_id) as work:
        policy = await load_policy_of_user(work, user_id)
    return await _build_result(dependencies, policy)


async def _build_result(dependencies: AdminDependencies, policy: Policy) -> ModelViewResult:
    """Build the result in a thread: for ten thousand tools, counting takes a second."""
    return await asyncio.to_thread(_build_view, dependencies.catalogue.build_model_view(policy))


def _build_view(view: ModelView) -> ModelViewResult:
    modules = [
        ModelViewModule(
            module=name,
            tools=[str(schema["name"]) for schema in schemas],
            estimated_tokens=estimate_tokens(orjson.dumps({"module": name, "tools": schemas}).decode()),
        )
        for name, schemas in view.schemas.items()
    ]
    plain = list(view.plain_definitions)
    plain_tokens = estimate_tokens(orjson.dumps(plain).decode())
    return ModelViewResult(
        tool_exposure=view.exposure.text,
        instructions=view.instructions,
        definitions=[dict(definition) for definition in view.definitions],
        plain_tools=[str(definition["name"]) for definition in plain],
        estimated_plain_tokens=plain_tokens,
        modules=modules,
        tool_count=sum(len(module.tools) for module in modules),
        resources=[
            OfferedResourceView(module=one.module, name=one.name, uri=one.uri)
            for one in view.offered
            if one.kind is CapabilityKind.RESOURCE
        ],
        prompts=[
            OfferedPromptView(module=one.module, name=one.name)
            for one in view.offered
            if one.kind is CapabilityKind.PROMPT
        ],
        estimated_start_tokens=_estimate_start(view) + (plain_tokens if view.exposure.has_plain_tools else 0),
        estimated_schema_tokens=sum(module.estimated_tokens for module in modules),
    )


def _estimate_start(view: ModelView) -> int:
    return estimate_tokens(view.instructions) + estimate_tokens(orjson.dumps(list(view.definitions)).decode())
