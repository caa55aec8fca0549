"""The deployment's trust in clients over the API: for the operator alone, in use without a restart."""

from dataclasses import replace
from typing import Any

from broker.authorization_server.client_trust import (
    KEPT_SECONDS,
    ClientTrustAdministration,
    StoredClientTrust,
)
from broker.identity.settings import AuthorizationServerSettings, ClientTrust
from tests.admin_ui.admin_app import OPERATORS, AdminApp, Tenant

PATH = "/deployment/client-trust"
CHOSEN: dict[str, Any] = {"dynamic_registration": True, "client_metadata_hosts": ["claude.ai", "*.example.com"]}


async def test_trust_from_the_default_to_stored_and_back(app: AdminApp, acme: Tenant) -> None:
    operators = await app.tenant(OPERATORS)
    async with app.browser(operators.admin) as operator, app.browser(acme.admin) as admin:
        assert (await admin.get(PATH)).json()["code"] == "forbidden"
        assert (await admin.put(PATH, json=CHOSEN)).json()["code"] == "forbidden"
        first = await operator.get(PATH)
        assert first.headers["etag"] == '"v0"'
        assert first.json() == {
            "dynamic_registration": False,
            "client_metadata_hosts": ["*"],
            "source": "default",
            "updated_at": None,
            "in_effect": True,
        }
        saved = await operator.put(PATH, json=CHOSEN, headers={"If-Match": '"v0"'})
        assert (saved.status_code, saved.headers["etag"], saved.json()["source"]) == (200, '"v1"', "database")
        assert {name: saved.json()[name] for name in CHOSEN} == CHOSEN
        late = await operator.put(PATH, json=CHOSEN, headers={"If-Match": '"v0"'})
        assert (late.status_code, late.json()["current"]["state"]) == (412, saved.json())
        for hosts in (["https://claude.ai"], ["a b"], ["x" * 300], ["h"] * 51):
            wrong = await operator.put(PATH, json=CHOSEN | {"client_metadata_hosts": hosts})
            assert (wrong.status_code, "client_metadata_hosts" in wrong.text) == (400, True), hosts
        assert (await operator.get(PATH)).json() == saved.json()
        assert (await operator.delete(PATH)).status_code == 204
        assert (await operator.delete(PATH)).status_code == 404
        assert (await operator.get(PATH)).json()["source"] == "default"
        await app.seal()
        told = (await operator.get("/deployment/audit", params={"kind": "client_trust"})).json()["items"]
    assert [one["kind"] for one in told] == ["client_trust.removed", "client_trust.set"]


async def test_it_says_where_another_authorization_server_lets_clients_in(app: AdminApp) -> None:
    operators = await app.tenant(OPERATORS)
    app.deployment = replace(app.deployment, has_own_authorization_server=False)
    async with app.browser(operators.admin) as operator:
        assert (await operator.get(PATH)).json()["in_effect"] is False


async def test_what_is_stored_counts_elsewhere_within_a_second(app: AdminApp) -> None:
    operators, now = await app.tenant(OPERATORS), [100.0]
    elsewhere = StoredClientTrust(app.settings_store(), seconds=lambda: now[0])
    assert await elsewhere.get() == ClientTrust()
    async with app.browser(operators.admin) as operator:
        await operator.put(PATH, json=CHOSEN)
    now[0] += KEPT_SECONDS
    assert (await elsewhere.get()).dynamic_registration
    assert (await elsewhere.get()).client_metadata_hosts == ("claude.ai", "*.example.com")


async def test_the_file_wins_and_is_not_changed(app: AdminApp) -> None:
    operators = await app.tenant(OPERATORS)
    assert AuthorizationServerSettings(grant_days=7).trust is None
    of_file = AuthorizationServerSettings(client_metadata=False).trust
    assert of_file is not None
    async with app.browser(operators.admin) as operator:
        await operator.put(PATH, json=CHOSEN)
    administration = ClientTrustAdministration(app.settings_store(), of_file)
    app.deployment, app.served = replace(app.deployment, client_trust=administration), None
    async with app.browser(operators.admin) as operator:
        shown = (await operator.get(PATH)).json()
        assert (shown["source"], shown["client_metadata_hosts"]) == ("file", [])
        refused = await operator.put(PATH, json=CHOSEN)
        assert (refused.status_code, "identity.toml" in refused.json()["detail"]) == (409, True)
        assert (await operator.delete(PATH)).status_code == 204
