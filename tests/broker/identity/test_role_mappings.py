"""Roles by groups and domains, applied at each sign-in at a real OpenID provider; two tenants."""

from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

import pytest
import pytest_asyncio

from broker.identity.providers.id_token import MAX_GROUPS, read_groups
from core.directory import users
from core.directory.role_mappings import add_role_mapping, remove_role_mapping
from core.directory.roles import find_role
from tests.broker.identity.browser import Browser
from tests.broker.identity.identity_app import IdentityApp, callback, house_on, oidc
from tests.broker.identity.people import ACTOR
from tests.support import directory
from tests.support.oauth_provider import OauthProvider, oauth_provider
from tests.support.postgres import ScratchDatabase

ADA = "ada@acme.test"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def company(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[OauthProvider]:
    async with oauth_provider(tmp_path_factory.mktemp("company"), redirect_uris=[callback()]) as provider:
        yield provider


@pytest.fixture
async def app(database: ScratchDatabase, company: OauthProvider) -> AsyncIterator[IdentityApp]:
    async with house_on(database, [oidc(company.issuer, company.client_id, company.client_secret)]) as made:
        yield made


async def tenant_with_roles(app: IdentityApp, slug: str, *names: str) -> tuple[UUID, dict[str, UUID]]:
    tenant = await app.people.tenant(slug, "@acme.test")
    for name in names:
        await directory.create_role(app.people.console, ACTOR, tenant, name, 1)
    return tenant, {name: (await find_role(app.people.console, tenant, name)).id for name in names}


async def map_group(app: IdentityApp, tenant: UUID, group: str, role: UUID, provider: str = "company") -> UUID:
    mapping, _ = await add_role_mapping(app.people.console, ACTOR, tenant, "group", provider, group, role)
    return mapping.id


async def signed_in(app: IdentityApp, company: OauthProvider, tenant: UUID, **claims: Any) -> list[str]:
    """Ada's roles after a sign-in with these claims."""
    await company.sign_in_as(ADA, **claims)
    async with app.browser() as browser:
        await browser.post("/sign-in/start", provider="company")
        assert await app.signed_in_as(browser) == ADA
    return sorted((await users.find_user(app.people.console, tenant, ADA)).roles)


async def test_groups_give_and_take_at_each_sign_in(app: IdentityApp, company: OauthProvider) -> None:
    tenant, roles = await tenant_with_roles(app, "acme", "engineering", "sales", "everybody")
    await map_group(app, tenant, "eng", roles["engineering"])
    await map_group(app, tenant, "sales-jp", roles["sales"])
    await map_group(app, tenant, "eng", roles["sales"], provider="another")
    await add_role_mapping(app.people.console, ACTOR, tenant, "domain", "", "acme.test", roles["everybody"])
    assert await signed_in(app, company, tenant, groups=["eng", "unknown"]) == ["engineering", "everybody"]
    assert await signed_in(app, company, tenant, groups=["sales-jp"]) == ["everybody", "sales"]
    assert await signed_in(app, company, tenant, groups="sales-jp") == ["everybody", "sales"]
    assert await signed_in(app, company, tenant) == ["everybody"]
    assigned, unassigned = [
        [event.detail or {} for event in await app.people.events(kind, tenant)]
        for kind in ("role.assigned", "role.unassigned")
    ]
    assert [(one["role"], one["by"]) for one in assigned] == [
        ("engineering", "sign_in"),
        ("everybody", "sign_in"),
        ("sales", "sign_in"),
    ] or {one["role"] for one in assigned} == {"engineering", "everybody", "sales"}
    assert [one["role"] for one in unassigned] == ["engineering", "sales"]


async def test_what_was_given_by_hand_is_never_taken_away(app: IdentityApp, company: OauthProvider) -> None:
    tenant, roles = await tenant_with_roles(app, "acme", "engineering", "by-hand")
    mapping = await map_group(app, tenant, "eng", roles["engineering"])
    assert await signed_in(app, company, tenant, groups=["eng"]) == ["engineering"]
    await directory.assign_role(app.people.console, ACTOR, tenant, ADA, "by-hand")
    await directory.assign_role(app.people.console, ACTOR, tenant, ADA, "engineering")
    assert await signed_in(app, company, tenant, groups=[]) == ["by-hand", "engineering"]
    await remove_role_mapping(app.people.console, ACTOR, tenant, mapping)
    assert await signed_in(app, company, tenant, groups=["eng"]) == ["by-hand", "engineering"]


async def test_what_a_removed_mapping_gave_ends_at_the_next_sign_in(app: IdentityApp, company: OauthProvider) -> None:
    tenant, roles = await tenant_with_roles(app, "acme", "engineering")
    mapping = await map_group(app, tenant, "eng", roles["engineering"])
    assert await signed_in(app, company, tenant, groups=["eng"]) == ["engineering"]
    await remove_role_mapping(app.people.console, ACTOR, tenant, mapping)
    assert await signed_in(app, company, tenant, groups=["eng"]) == []


async def test_too_many_groups_for_a_token_take_nothing_away(app: IdentityApp, company: OauthProvider) -> None:
    tenant, roles = await tenant_with_roles(app, "acme", "engineering")
    await map_group(app, tenant, "eng", roles["engineering"])
    assert await signed_in(app, company, tenant, groups=["eng"]) == ["engineering"]
    assert await signed_in(app, company, tenant, _claim_names={"groups": "src1"}) == ["engineering"]
    assert await signed_in(app, company, tenant, groups=[]) == []


async def test_each_tenant_has_its_own_mappings_and_the_chosen_one_counts(
    app: IdentityApp, company: OauthProvider
) -> None:
    acme, roles = await tenant_with_roles(app, "acme", "engineering")
    globex, others = await tenant_with_roles(app, "globex", "staff")
    await map_group(app, acme, "eng", roles["engineering"])
    await map_group(app, globex, "eng", others["staff"])
    await company.sign_in_as(ADA, groups=["eng"])
    async with app.browser() as browser:
        await _choose(browser, acme)
        assert await app.signed_in_as(browser) == ADA
    assert (await users.find_user(app.people.console, acme, ADA)).roles == ("engineering",)
    assert await app.people.value("SELECT count(*) FROM core.role_assignments WHERE tenant_id = $1", globex) == 0


async def _choose(browser: Browser, tenant: UUID) -> None:
    page = await browser.post("/sign-in/start", provider="company")
    assert "/sign-in/tenant" in str(page.url)
    await browser.post("/sign-in/tenant", tenant=str(tenant))


@pytest.mark.parametrize(
    ("claims", "groups"),
    [
        ({"groups": ["a", "b", "a"]}, ("a", "b")),
        ({"groups": "a"}, ("a",)),
        ({}, ()),
        ({"groups": None}, ()),
        ({"groups": {"a": 1}}, ()),
        ({"groups": [1, None, "", "a" * 201, "b"]}, ("b",)),
        ({"groups": ["a"] * (MAX_GROUPS + 1)}, None),
        ({"_claim_names": {"groups": "src1"}}, None),
        ({"hasgroups": True}, None),
        ({"_claim_names": "groups"}, ()),
    ],
)
def test_what_is_read_of_the_claim(claims: dict[str, object], groups: tuple[str, ...] | None) -> None:
    assert read_groups(claims, "groups") == groups
    assert read_groups(claims, "") is None
