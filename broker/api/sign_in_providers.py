"""``/identity-providers``: the names of the identity providers, for administrators who map their groups to roles."""

from pydantic import Field

from broker.api.identity_dependencies import IdentityDeps
from broker.identity.provider_registry import ListedProvider
from core.api.app import create_router
from core.api.dependencies import AdminRead
from core.api.pagination import Cursor, PageLimit
from core.api.schemas import PageOf, ResponseModel
from core.api.sorted_lists import SortedList, SortKey

routes = create_router("roles")


class SignInProviderView(ResponseModel):
    """An identity provider that people sign in at, as its sign-in button names it."""

    id: str = Field(description="Identifier of the provider.")
    label: str = Field(description="Text of the sign-in button.")


_PROVIDERS = SortedList[ListedProvider](
    lambda provider: "", lambda provider: provider.id, {"id": SortKey(lambda provider: provider.id)}
)


@routes.get("/identity-providers")
async def list_sign_in_providers(
    caller: AdminRead, parts: IdentityDeps, limit: PageLimit = 50, cursor: Cursor = None
) -> PageOf[SignInProviderView]:
    """List the identity providers that people sign in at.

    They are those of the whole deployment, ordered by identifier. A role mapping names one of them.
    """
    page, following = _PROVIDERS.select_page(await parts.list_providers(), "", "id", limit, cursor)
    return PageOf(items=[SignInProviderView.model_validate(provider) for provider in page], next_cursor=following)
