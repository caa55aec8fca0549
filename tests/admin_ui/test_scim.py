"""SCIM 2.0 as Entra ID and Okta send it: people, groups and their roles, suspension, two tenants, errors and limits."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

import httpx2
import pytest

from admin_ui.scim.app import MAX_BODY_BYTES, ScimDependencies, build_scim_app
from core.directory import users
from core.directory.role_mappings import add_role_mapping
from core.directory.roles import find_role
from core.directory.scim import ScimDirectory
from tests.admin_ui.admin_app import ACTOR, URL, AdminApp, Tenant
from tests.support import directory

PATCH = "urn:ietf:params:scim:api:messages:2.0:PatchOp"
USER = "urn:ietf:params:scim:schemas:core:2.0:User"


async def keep_accounts(*_: Any, **__: Any) -> tuple[()]:
    return ()


@dataclass
class Provider:
    """An identity provider that provisions one tenant."""

    app: AdminApp
    tenant: Tenant
    http: httpx2.AsyncClient

    async def make(self, user_name: str, **more: Any) -> dict[str, Any]:
        answer = await self.http.post("/Users", json={"schemas": [USER], "userName": user_name, **more})
        assert answer.status_code == 201, answer.text
        return answer.json()

    async def patch(self, path: str, *operations: dict[str, Any]) -> httpx2.Response:
        return await self.http.patch(path, json={"schemas": [PATCH], "Operations": list(operations)})

    async def group(self, name: str, *members: str) -> str:
        body = {"displayName": name, "members": [{"value": member} for member in members]}
        answer = await self.http.post("/Groups", json=body)
        assert answer.status_code == 201, answer.text
        return answer.json()["id"]

    async def roles(self, user_id: str) -> list[str]:
        return sorted((await users.get_user(self.app.console, self.tenant.id, UUID(user_id))).roles)

    async def role(self, name: str, group: str) -> UUID:
        await directory.create_role(self.app.console, ACTOR, self.tenant.id, name, 1)
        role_id = (await find_role(self.app.console, self.tenant.id, name)).id
        await add_role_mapping(self.app.console, ACTOR, self.tenant.id, "group", "scim", group, role_id)
        return role_id


def client(app: AdminApp, token: str) -> httpx2.AsyncClient:
    parts = ScimDependencies(
        ScimDirectory(app.console, keep_accounts), app.parts.scim_tokens.verify, lambda _: "192.0.2.9", URL, lambda: 0.0
    )
    transport = httpx2.ASGITransport(build_scim_app(parts), raise_app_exceptions=False)
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return httpx2.AsyncClient(transport=transport, base_url=f"{URL}/scim/v2", headers=headers)


async def provider_of(app: AdminApp, slug: str) -> Provider:
    tenant = await app.tenant(slug)
    _, token = await app.parts.scim_tokens.create(ACTOR, tenant.id, "Entra ID")
    return Provider(app, tenant, client(app, token.reveal()))


@pytest.fixture
async def acme(app: AdminApp) -> AsyncIterator[Provider]:
    made = await provider_of(app, "acme")
    yield made
    await made.http.aclose()


async def test_what_this_server_can_do(acme: Provider) -> None:
    config = (await acme.http.get("/ServiceProviderConfig")).json()
    assert (config["patch"]["supported"], config["bulk"]["supported"], config["filter"]["maxResults"]) == (
        True,
        False,
        200,
    )
    types = (await acme.http.get("/ResourceTypes")).json()
    assert [one["endpoint"] for one in types["Resources"]] == ["/Users", "/Groups"]
    assert (await acme.http.get("/ResourceTypes/User")).json()["schema"] == USER
    schemas = (await acme.http.get("/Schemas")).json()
    assert {one["id"].rpartition(":")[2] for one in schemas["Resources"]} == {"User", "Group"}
    assert (await acme.http.get(f"/Schemas/{USER}")).json()["name"] == "User"
    assert (await acme.http.get("/Schemas/made-up")).status_code == 404


async def test_a_person_as_entra_id_sends_one(acme: Provider) -> None:
    filter_ = {"filter": 'userName eq "Ada@acme.example"'}
    assert (await acme.http.get("/Users", params=filter_)).json()["totalResults"] == 0
    made = await acme.make(
        "Ada@acme.example",
        externalId="ada-1",
        active=True,
        displayName="Ada Lovelace",
        emails=[{"primary": True, "type": "work", "value": "ada@acme.example"}],
        name={"formatted": "Ada Lovelace", "familyName": "Lovelace", "givenName": "Ada"},
        **{"urn:ietf:params:scim:schemas:extension:enterprise:2.0:User": {"department": "Engines"}},
    )
    assert (made["userName"], made["active"], made["externalId"]) == ("Ada@acme.example", True, "ada-1")
    found = (await acme.http.get("/Users", params=filter_)).json()
    assert (found["totalResults"], found["Resources"][0]["id"]) == (1, made["id"])
    assert (await acme.http.get("/Users", params={"filter": 'externalId eq "ada-1"'})).json()["totalResults"] == 1
    where = f"/Users/{made['id']}"
    changed = await acme.patch(
        where,
        {"op": "Replace", "path": "displayName", "value": "Ada King"},
        {"op": "Add", "path": 'emails[type eq "work"].value', "value": "ada.king@acme.example"},
        {"op": "Replace", "path": "name.familyName", "value": "King"},
        {"op": "Add", "path": "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department", "value": "x"},
    )
    assert changed.status_code == 200, changed.text
    assert (changed.json()["displayName"], changed.json()["name"]["familyName"]) == ("Ada King", "King")
    assert changed.json()["emails"][0]["value"] == "ada.king@acme.example"
    user = await users.get_user(acme.app.console, acme.tenant.id, UUID(made["id"]))
    assert (user.email, user.name, user.status) == ("ada.king@acme.example", "Ada King", "active")
    allowed = await acme.app.value(
        "SELECT array_agg(entry) FROM core.allow_list WHERE tenant_id = $1 AND entry LIKE 'ada%'", acme.tenant.id
    )
    assert allowed == ["ada.king@acme.example"]
    flat = await acme.patch(where, {"op": "replace", "value": {"name.givenName": "Augusta", "active": "False"}})
    assert (flat.json()["name"]["givenName"], flat.json()["active"]) == ("Augusta", False)


async def test_a_person_as_okta_sends_one(acme: Provider) -> None:
    made = await acme.make(
        "bob@acme.example",
        name={"givenName": "Bob", "familyName": "Burns"},
        emails=[{"primary": True, "value": "bob@acme.example", "type": "work"}],
        displayName="Bob Burns",
        locale="en-US",
        externalId="00u1",
        groups=[],
        password="a-password-that-is-ignored",
        active=True,
    )
    where = f"/Users/{made['id']}"
    off = await acme.patch(where, {"op": "replace", "value": {"active": False}})
    assert (off.status_code, off.json()["active"]) == (200, False)
    body = {**made, "active": True, "displayName": "Robert Burns", "userName": "robert@acme.example"}
    body["emails"] = [{"primary": True, "value": "robert@acme.example", "type": "work"}]
    put = await acme.http.put(where, json=body)
    assert (put.json()["active"], put.json()["displayName"]) == (True, "Robert Burns")
    assert (await users.find_user(acme.app.console, acme.tenant.id, "robert@acme.example")).name == "Robert Burns"
    assert (await acme.http.delete(where)).status_code == 204
    assert (await acme.http.get(where)).status_code == 404


@pytest.mark.parametrize("value", [False, "False", "false"])
async def test_who_is_deactivated_is_out_at_once(acme: Provider, value: object) -> None:
    """As `mcpist user suspend` does: sessions, tokens and whatever asks the generation."""
    app, person = acme.app, acme.tenant.user
    generation = "SELECT value FROM core.generations WHERE tenant_id = $1"
    before = await app.value(generation, acme.tenant.id)
    async with app.browser(person) as browser, app.script(person.token) as script:
        assert (await browser.get("/me")).status_code == 200
        off = await acme.patch(f"/Users/{person.id}", {"op": "Replace", "path": "active", "value": value})
        assert off.json()["active"] is False
        assert (await browser.get("/me")).status_code == 401
        assert (await script.get("/me")).status_code == 401
    assert await app.value(generation, acme.tenant.id) > before
    await app.seal()
    async with app.browser(acme.tenant.admin) as admin:
        (event,) = (await admin.get("/audit", params={"kind": "user.suspended"})).json()["items"]
    assert event["actor"] == "scim Entra ID"


async def test_the_last_administrator_stays(acme: Provider) -> None:
    where = f"/Users/{acme.tenant.admin.id}"
    for refused in (
        await acme.patch(where, {"op": "replace", "value": {"active": False}}),
        await acme.http.delete(where),
    ):
        assert (refused.status_code, "last active administrator" in refused.json()["detail"]) == (409, True)
    renamed = await acme.patch(where, {"op": "replace", "path": "userName", "value": "mallory@evil.example"})
    assert (renamed.status_code, "administrator" in renamed.json()["detail"]) == (409, True)
    assert (await acme.http.get(where)).json()["active"] is True


async def test_groups_give_roles_and_take_none_that_was_given_by_hand(acme: Provider) -> None:
    role_id = await acme.role("engineers", "Engineering")
    ada, bob = (await acme.make("ada@acme.example"))["id"], (await acme.make("bob@acme.example"))["id"]
    group = await acme.group("Engineering", ada)
    assert (await acme.roles(ada), await acme.roles(bob)) == (["engineers"], [])
    where = f"/Groups/{group}"
    assert (await acme.patch(where, {"op": "Add", "path": "members", "value": [{"value": bob}]})).status_code == 204
    assert await acme.roles(bob) == ["engineers"]
    await users.assign_role(acme.app.console, ACTOR, acme.tenant.id, UUID(bob), role_id)
    await acme.patch(where, {"op": "Remove", "path": "members", "value": [{"value": bob}]})  # Entra ID
    await acme.patch(where, {"op": "remove", "path": f'members[value eq "{ada}"]'})  # Okta
    assert (await acme.roles(ada), await acme.roles(bob)) == ([], ["engineers"])
    await acme.patch(where, {"op": "replace", "path": "members", "value": [{"value": ada}]})
    assert await acme.roles(ada) == ["engineers"]
    await acme.patch(where, {"op": "replace", "value": {"id": group, "displayName": "Something else"}})
    assert await acme.roles(ada) == []
    await acme.patch(where, {"op": "replace", "path": "displayName", "value": "Engineering"})
    assert await acme.roles(ada) == ["engineers"]
    assert (await acme.http.delete(where)).status_code == 204
    assert (await acme.roles(ada), await acme.roles(bob)) == ([], ["engineers"])


async def test_two_groups_of_one_role_and_a_mapping_that_comes_later(acme: Provider) -> None:
    ada = (await acme.make("ada@acme.example"))["id"]
    first, second = await acme.group("First", ada), await acme.group("Second", ada)
    role_id = await acme.role("shared", "First")
    assert await acme.roles(ada) == ["shared"], "whoever is in the group already has the role at once"
    await add_role_mapping(acme.app.console, ACTOR, acme.tenant.id, "group", "scim", "Second", role_id)
    await acme.http.delete(f"/Groups/{first}")
    assert await acme.roles(ada) == ["shared"]
    await acme.http.delete(f"/Groups/{second}")
    assert await acme.roles(ada) == []


async def test_lists_have_pages_and_groups_come_without_members_when_asked(acme: Provider) -> None:
    ids = [(await acme.make(f"p{number}@acme.example"))["id"] for number in range(5)]
    await acme.group("All", *ids)
    seen: list[str] = []
    for start in (1, 3, 5, 7):
        page = (await acme.http.get("/Users", params={"startIndex": start, "count": 2})).json()
        assert (page["totalResults"], page["startIndex"]) == (7, start)
        seen += [one["userName"] for one in page["Resources"]]
    assert seen == sorted(seen)
    assert len(seen) == 7
    assert (await acme.http.get("/Users", params={"count": 0})).json()["Resources"] == []
    assert (await acme.http.get("/Users", params={"startIndex": -3, "count": 9999})).json()["itemsPerPage"] == 7
    by_name = {"filter": 'displayName eq "all"', "excludedAttributes": "members"}
    (group,) = (await acme.http.get("/Groups", params=by_name)).json()["Resources"]
    assert "members" not in group
    whole = (await acme.http.get(f"/Groups/{group['id']}")).json()
    assert {one["value"] for one in whole["members"]} == set(ids)


async def test_no_tenant_reaches_another_s(app: AdminApp, acme: Provider) -> None:
    globex = await provider_of(app, "globex")
    await globex.role("staff", "Staff")
    theirs, group = (await acme.make("ada@shared.example"))["id"], await acme.group("Staff")
    for answer in (
        await globex.http.get(f"/Users/{theirs}"),
        await globex.patch(f"/Users/{theirs}", {"op": "replace", "value": {"active": False}}),
        await globex.http.put(f"/Users/{theirs}", json={"userName": "x@globex.example"}),
        await globex.http.delete(f"/Users/{theirs}"),
        await globex.http.get(f"/Groups/{group}"),
        await globex.http.put(f"/Groups/{group}", json={"displayName": "Mine"}),
        await globex.patch(f"/Groups/{group}", {"op": "add", "path": "members", "value": []}),
        await globex.http.delete(f"/Groups/{group}"),
        await globex.http.get(f"/Users/{uuid4()}"),
        await globex.http.get("/Users/made-up"),
    ):
        assert answer.status_code == 404
        assert answer.json()["detail"] == "there is nothing at this address, or nothing for you"
    foreign = await globex.http.post("/Groups", json={"displayName": "Staff", "members": [{"value": theirs}]})
    assert (foreign.status_code, foreign.json()["scimType"]) == (400, "invalidValue")
    assert (await globex.make("ada@shared.example"))["id"] != theirs
    assert "ada@shared.example" not in (await globex.http.get("/Users", params={"filter": 'externalId eq "x"'})).text
    assert (await acme.http.get(f"/Users/{theirs}")).json()["active"] is True


@pytest.mark.parametrize(
    ("body", "scim_type"),
    [
        ({}, "invalidValue"),
        ({"userName": ""}, "invalidValue"),
        ({"userName": 5}, "invalidValue"),
        ({"userName": "no address"}, "invalidValue"),
        ({"userName": "a@acme.example", "active": "perhaps"}, "invalidValue"),
        ({"userName": "a@acme.example", "emails": "a@acme.example"}, "invalidValue"),
        ({"userName": "a@acme.example", "displayName": "x" * 401}, "invalidValue"),
        ({"userName": "a@acme.example", "displayName": "x" * 201}, "invalidValue"),
        ({"userName": "a@acme.example", "displayName": "two\nlines"}, "invalidValue"),
        ({"userName": "admin@acme.example"}, "uniqueness"),
        ({"userName": "ADMIN@acme.example"}, "uniqueness"),
    ],
)
async def test_people_that_are_refused(acme: Provider, body: dict[str, Any], scim_type: str) -> None:
    answer = await acme.http.post("/Users", json=body)
    assert answer.headers["content-type"] == "application/scim+json"
    error = answer.json()
    assert error["schemas"] == ["urn:ietf:params:scim:api:messages:2.0:Error"]
    assert (error["status"], error["scimType"]) == (str(answer.status_code), scim_type)
    assert answer.status_code == (409 if scim_type == "uniqueness" else 400)


@pytest.mark.parametrize(
    ("operations", "scim_type"),
    [
        (None, "invalidSyntax"),
        ([], "invalidSyntax"),
        ([5], "invalidSyntax"),
        ([{"op": "move", "path": "active"}], "invalidSyntax"),
        ([{"op": "remove"}], "noTarget"),
        ([{"op": "replace", "value": "x"}], "noTarget"),
        ([{"op": "replace", "path": "a b", "value": "x"}], "invalidPath"),
        ([{"op": "replace", "path": ["x"], "value": "x"}], "invalidPath"),
        ([{"op": "replace", "path": "active", "value": None}], "invalidValue"),
        ([{"op": "remove", "path": "userName"}], "mutability"),
        ([{"op": "add", "path": "x"}] * 1001, "tooMany"),
    ],
)
async def test_patches_that_are_refused(acme: Provider, operations: Any, scim_type: str) -> None:
    before = (await acme.http.get(f"/Users/{acme.tenant.user.id}")).json()
    answer = await acme.http.patch(f"/Users/{acme.tenant.user.id}", json={"Operations": operations})
    assert (answer.status_code, answer.json()["scimType"]) == (400, scim_type)
    assert (await acme.http.get(f"/Users/{acme.tenant.user.id}")).json() == before


@pytest.mark.parametrize(
    "text", ["userName", 'userName co "a"', 'userName eq "a" or 1 eq 1', "x" * 2000, 'userName eq "\\x"', 'meta eq "x"']
)
async def test_filters_that_are_refused(acme: Provider, text: str) -> None:
    answer = await acme.http.get("/Users", params={"filter": text})
    assert (answer.status_code, answer.json()["scimType"]) == (400, "invalidFilter")


async def test_all_changes_of_a_patch_or_none(acme: Provider) -> None:
    ada = (await acme.make("ada@acme.example"))["id"]
    group = await acme.group("Team")
    refused = await acme.patch(
        f"/Groups/{group}",
        {"op": "add", "path": "members", "value": [{"value": ada}]},
        {"op": "add", "path": "members", "value": [{"value": str(uuid4())}]},
    )
    assert refused.status_code == 400
    assert (await acme.http.get(f"/Groups/{group}")).json()["members"] == []


async def test_what_is_too_large_or_no_json(acme: Provider) -> None:
    for body, status in (
        (b"{" + b" " * MAX_BODY_BYTES, 413),
        (b"[]", 400),
        (b"\xff\x00", 400),
        (b"[" * 100_000, 400),
        (b"", 400),
    ):
        answer = await acme.http.post("/Users", content=body)
        assert (answer.status_code, answer.json()["status"]) == (status, str(status))
    assert (await acme.http.get("/nothing")).json()["status"] == "404"
    assert (await acme.http.put("/Users", json={})).json()["status"] == "405"


async def test_only_a_scim_token_of_an_active_tenant_opens_it_and_nothing_else(app: AdminApp, acme: Provider) -> None:
    made, token = await app.parts.scim_tokens.create(ACTOR, acme.tenant.id, "Okta")
    for wrong in ("", "mcpist_scim_" + "x" * 43, acme.tenant.admin.token.reveal(), token.reveal()[:-1], "x" * 500):
        answer = await client(app, wrong).get("/Users")
        assert (answer.status_code, "WWW-Authenticate" in answer.headers) == (401, True)
    async with app.script(token) as script:
        assert (await script.get("/users")).status_code == 401
    own = client(app, token.reveal())
    assert (await own.get("/Users")).status_code == 200
    await app.execute("UPDATE core.tenants SET status = 'suspended' WHERE tenant_id = $1", acme.tenant.id)
    assert (await own.get("/Users")).status_code == 401
    await app.execute("UPDATE core.tenants SET status = 'active' WHERE tenant_id = $1", acme.tenant.id)
    await app.parts.scim_tokens.remove(ACTOR, acme.tenant.id, made.id)
    assert (await own.get("/Users")).status_code == 401
    limited = client(app, "")
    statuses = [(await limited.get("/Users")).status_code for _ in range(25)]
    assert statuses[-1] == 429


async def test_the_token_is_stored_as_a_hash(app: AdminApp, acme: Provider) -> None:
    async with app.browser(acme.tenant.admin) as admin:
        made = (await admin.post("/scim-tokens", json={"name": "Okta"})).json()
        listed = await admin.get("/scim-tokens")
        assert [one["name"] for one in listed.json()["items"]] == ["Okta", "Entra ID", "Provider of acme"]
        assert made["token"] not in listed.text
        stored = str(await app.value("SELECT string_agg(t::text, ' ') FROM auth.scim_tokens t"))
        assert made["token"].removeprefix("mcpist_scim_") not in stored
        assert (await client(app, made["token"]).get("/Users")).status_code == 200
        assert (await admin.delete(f"/scim-tokens/{made['id']}")).status_code == 204
        assert (await client(app, made["token"]).get("/Users")).status_code == 401
