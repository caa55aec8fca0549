"""SCIM at the running product, with a token of the command line: shown once, opens /scim/v2, ends at once."""

import httpx2

from tests.cli.conftest import Home


def test_a_token_from_made_to_removed(cli: Home, tenant: str) -> None:
    there = ("--tenant", tenant)
    made = cli.run("scim-token", "create", "--name", "Entra ID", "--json", *there).json()
    url, headers = f"http://127.0.0.1:{cli.port}/scim/v2", {"Authorization": f"Bearer {made['token']}"}
    asked = {"filter": 'userName eq "nobody@acme.example"'}
    with httpx2.Client(base_url=url, headers=headers, trust_env=False) as provider:
        answer = provider.get("/Users", params=asked)
        assert (answer.status_code, answer.json()["totalResults"]) == (200, 0), answer.text
        assert answer.headers["content-type"] == "application/scim+json"
        made_user = provider.post("/Users", json={"userName": "provisioned@acme.example", "externalId": "1"})
        assert made_user.status_code == 201, made_user.text
        assert "provisioned@acme.example" in cli.run("user", "list", *there).out
        listed = cli.run("scim-token", "list", *there).out
        assert "Entra ID" in listed
        assert made["token"] not in listed
        assert cli.run("scim-token", "remove", made["id"], *there).code == 0
        assert cli.run("scim-token", "remove", made["id"], *there).code == 4
        assert provider.get("/Users", params=asked).status_code == 401
