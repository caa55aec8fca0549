"""The two ways to register GitHub: the connect page and the provider list tell them apart, and which is recommended."""

import html
import re
from pathlib import Path

import httpx2
import pytest

from tests.support.identity import identity_on
from tests.support.postgres import ScratchDatabase
from tests.support.product import Person, product_on


def boxes(page: str) -> list[str]:
    """The texts of the notices, one for each way to register."""
    found = re.findall(r'<section class="notice">(.*?)</section>', page, re.S)
    return [html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", one))).strip() for one in found]


@pytest.mark.parametrize(("language", "recommended"), [("en", "recommended"), ("ja", "推奨")])
async def test_an_administrator_reads_which_app_to_register(
    database: ScratchDatabase, tmp_path: Path, language: str, recommended: str
) -> None:
    async with (
        product_on(database, tmp_path / "home") as product,
        identity_on(product, providers=False) as identity,
        httpx2.AsyncClient(base_url=identity.url, headers={"Accept-Language": language}) as http,
    ):
        for slug in ("acme", "umbrella"):
            tenant = await product.tenant(slug)
            ada, bob = [await product.person(tenant, f"{name}@{slug}.test", allow=["*"]) for name in ("ada", "bob")]
            async with product.database.admin_connection() as admin:
                await admin.execute("UPDATE core.users SET system_role = 'admin' WHERE id = $1", ada.id)

            async def page(person: Person) -> str:
                cookie = {"Cookie": await identity.session(person)}
                return (await http.get("/connect/github", headers=cookie)).text

            app, oauth = boxes(await page(ada))
            assert ("GitHub App" in app, recommended in app) == (True, True)
            assert ("OAuth App" in oauth, recommended in oauth) == (True, False)
            assert re.search(r"/connect/callback/github(?!\w)", app)
            assert re.search(r"/connect/callback/github_oauth_app(?!\w)", oauth)
            assert "mcpist oauth-client set github " in f"{app} "
            assert not any("mcpist" in box for box in boxes(await page(bob))), "who does not administer is told to ask"
