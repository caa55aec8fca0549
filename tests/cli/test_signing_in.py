"""Who may sign in, and links to sign in by, on a product that runs meanwhile."""

import urllib.error
import urllib.request

import pytest

from tests.cli.conftest import Home


def opened(url: str, form: bytes | None = None) -> tuple[int, str]:
    """What a browser is shown."""
    origin = url.partition("/sign-in")[0]
    request = urllib.request.Request(url, form, {"Origin": origin, "Sec-Fetch-Site": "same-origin"})
    try:
        with urllib.request.urlopen(request, timeout=10) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_the_allow_list(cli: Home, tenant: str) -> None:
    chosen = ("--tenant", tenant)
    assert cli.run("allow", "add", "@BÜCHER.example", *chosen).out == "@xn--bcher-kva.example may sign in.\n"
    assert cli.run("allow", "add", "Ada@acme.example", *chosen, "--json").json()["entry"] == "ada@acme.example"
    entries = [one["entry"] for one in cli.run("allow", "list", *chosen, "--json").json()]
    assert {"@xn--bcher-kva.example", "ada@acme.example"} <= set(entries)
    assert "ada@acme.example" in cli.run("allow", "list", *chosen).out
    assert cli.run("allow", "remove", "ada@acme.example", *chosen, "--json").json()["allowed"] is False
    assert cli.run("allow", "remove", "ada@acme.example", *chosen).code == 4
    assert cli.run("allow", "add", "acme.example", *chosen).code == 2
    cli.run("user", "create", "new@elsewhere.example", *chosen)
    assert "new@elsewhere.example" in cli.run("allow", "list", *chosen).out


def test_a_link_signs_in_once(cli: Home, tenant: str) -> None:
    chosen = ("--tenant", tenant)
    cli.run("user", "create", "link@acme.example", *chosen)
    made = cli.run("user", "link", "link@acme.example", *chosen, "--json").json()
    assert made["user"] == "link@acme.example"
    alone = cli.run("user", "link", "link@acme.example", *chosen)
    assert alone.out.startswith(f"http://127.0.0.1:{cli.port}/sign-in/link?code=")
    assert alone.out.count("\n") == 1
    assert opened(made["sign_in_link"])[0] == 410  # the newer one counts
    url, _, code = alone.out.strip().partition("?code=")
    status, page = opened(alone.out.strip())
    assert (status, "link@acme.example" in page) == (200, True)
    assert opened(url, f"code={code}".encode())[0] == 200
    assert opened(url, f"code={code}".encode())[0] == 410


@pytest.mark.parametrize(("email", "code"), [("nobody@acme.example", 4), ("no address", 2)])
def test_links_for_nobody(cli: Home, tenant: str, email: str, code: int) -> None:
    assert cli.run("user", "link", email, "--tenant", tenant).code == code


def test_a_suspended_user_gets_none(cli: Home, tenant: str) -> None:
    cli.run("user", "create", "gone@acme.example", "--tenant", tenant)
    cli.run("user", "suspend", "gone@acme.example", "--tenant", tenant)
    assert cli.run("user", "link", "gone@acme.example", "--tenant", tenant).code == 2
