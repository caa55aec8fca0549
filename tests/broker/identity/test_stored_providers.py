"""Identity providers in the database: tried before they are stored, and in use on every process at once."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import pytest_asyncio

from broker.identity.provider_registry import StoredProviders
from broker.identity.provider_trial import ProviderTrial
from broker.identity.stored_providers import ProviderAdministration, ProviderChange
from broker.vault.deployment_settings import DeploymentSettingRows, DeploymentSettingsStore
from broker.vault.key_rewrap import rewrap_keys
from broker.vault.key_wrapping import InMemoryKeyProvider
from core.config.settings import Settings
from core.errors import Conflict, Invalid, NotFound
from core.secret import Secret
from server.wiring.outbound_http import open_idp_http
from tests.broker.identity.browser import PUBLIC_URL
from tests.broker.identity.identity_app import IdentityApp, RealClock, callback, house_on, oidc
from tests.broker.identity.people import ACTOR, People
from tests.support.oauth_provider import OauthProvider, oauth_provider
from tests.support.postgres import ScratchDatabase

KEYS = {"k": b"k" * 32, "k2": b"2" * 32}


@dataclass
class Stage:
    """The pages of one process; `administration` is another process's."""

    app: IdentityApp
    administration: ProviderAdministration
    company: OauthProvider

    def change(self, secret: str | None = "", **values: str) -> ProviderChange:
        """The company's provider; without a secret its own."""
        settings = oidc(self.company.issuer, self.company.client_id, "") | values
        names = ("kind", "label", "issuer", "client_id")
        given = self.company.client_secret if secret == "" else secret
        return ProviderChange(
            "company", {name: settings[name] for name in names}, None if given is None else Secret(given)
        )

    @property
    def people(self) -> People:
        return self.app.people


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def company(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[OauthProvider]:
    async with oauth_provider(tmp_path_factory.mktemp("company"), redirect_uris=[callback()]) as provider:
        yield provider


@asynccontextmanager
async def stage_on(
    database: ScratchDatabase, company: OauthProvider, *of_file: dict[str, str], listed: bool = True
) -> AsyncIterator[Stage]:
    hosts = (urlsplit(company.issuer).netloc,) if listed else ()
    settings = Settings(home=Path("/nowhere"), public_url=PUBLIC_URL, allowed_private_hosts=hosts)
    keys = InMemoryKeyProvider("k", KEYS)
    async with open_idp_http(settings) as http, open_idp_http(settings) as elsewhere:

        def stored(broker: object, clock: RealClock) -> StoredProviders:
            return StoredProviders(DeploymentSettingsStore(broker, keys, clock=clock), http, clock=clock)  # type: ignore[arg-type]

        async with house_on(database, of_file, stored) as app:
            await app.people.tenant("acme", "@acme.test")
            await company.sign_in_as("ada@acme.test", name="Ada")
            store = DeploymentSettingsStore(app.people.broker, keys, clock=app.clock)
            yield Stage(app, ProviderAdministration(store, (), ProviderTrial(elsewhere, PUBLIC_URL)), company)


@pytest.fixture
async def stage(database: ScratchDatabase, company: OauthProvider) -> AsyncIterator[Stage]:
    async with stage_on(database, company) as made:
        yield made


async def signed_in(stage: Stage) -> str:
    async with stage.app.browser() as browser:
        await browser.post("/sign-in/start", provider="company")
        return await stage.app.signed_in_as(browser)


async def page(stage: Stage) -> str:
    async with stage.app.browser() as browser:
        return (await browser.get("/sign-in")).text


async def test_a_stored_provider_is_in_use_at_once_changed_at_once_and_gone_at_once(stage: Stage) -> None:
    assert "Company" not in await page(stage)
    saved, checks = await stage.administration.put(ACTOR, stage.change())
    assert [(check.check, check.outcome) for check in checks] == [("metadata", "ok"), ("keys", "ok"), ("client", "ok")]
    assert (saved.source, saved.in_use) == ("database", True)
    assert "Company" in await page(stage)
    assert await signed_in(stage) == "ada@acme.test"
    await stage.administration.put(ACTOR, stage.change(None, label="Sign in with Acme"))
    assert "Sign in with Acme" in await page(stage)
    assert await signed_in(stage) == "ada@acme.test"
    await stage.administration.remove(ACTOR, "company")
    assert "Sign in with Acme" not in await page(stage)
    assert await signed_in(stage) == ""
    with pytest.raises(NotFound):
        await stage.administration.remove(ACTOR, "company")
    told = [(await stage.people.events(kind)) for kind in ("identity_provider.set", "identity_provider.removed")]
    assert [len(events) for events in told] == [2, 1]
    assert told[0][0].detail == {"name": "company", "version": 1}


async def test_the_secret_is_neither_stored_in_the_clear_nor_shown(stage: Stage) -> None:
    await stage.administration.put(ACTOR, stage.change())
    stored = str(await stage.people.value("SELECT string_agg(s::text, ' ') FROM auth.deployment_settings s"))
    assert stage.company.client_id in stored
    assert stage.company.client_secret not in stored
    assert stage.company.client_secret.encode().hex() not in stored
    [listed] = await stage.administration.list()
    assert stage.company.client_secret not in repr(listed)


@pytest.mark.parametrize(
    ("values", "secret", "failed"),
    [
        ({}, "not the secret", "client: the provider refuses"),
        ({"client_id": "somebody-else"}, "", "client: the provider refuses"),
        ({"issuer": "https://127.0.0.1"}, "", "metadata: its address may not be reached"),
        ({"issuer": "{issuer}/"}, "", "metadata: the metadata there names another issuer"),
        ({"issuer": "{issuer}/nothing-here"}, "", "metadata: there is no OpenID metadata"),
    ],
)
async def test_what_a_check_refuses_is_not_stored(
    stage: Stage, values: dict[str, str], secret: str, failed: str
) -> None:
    filled = {name: value.format(issuer=stage.company.issuer) for name, value in values.items()}
    change = stage.change(secret, **filled)
    with pytest.raises(Invalid, match=failed):
        await stage.administration.put(ACTOR, change)
    assert await stage.administration.list() == []
    _, checks = await stage.administration.put(ACTOR, change, despite_failures=True)
    assert any(check.outcome == "failed" for check in checks)
    assert len(await stage.administration.list()) == 1


async def test_a_stored_secret_goes_to_no_other_server(stage: Stage) -> None:
    """Else whoever may change a provider would read its secret, at a server of their own."""
    await stage.administration.put(ACTOR, stage.change())
    for values in ({"issuer": "https://evil.example"}, {"client_id": "other"}):
        for attempt in (stage.administration.test, lambda change: stage.administration.put(ACTOR, change)):
            with pytest.raises(Invalid, match="the stored secret is sent to no other provider"):
                await attempt(stage.change(None, **values))


async def test_a_host_of_a_private_network_is_reached_only_if_the_machine_lists_it(
    database: ScratchDatabase, company: OauthProvider
) -> None:
    async with stage_on(database, company, listed=False) as stage:
        (check,) = await stage.administration.test(stage.change())
        assert (check.outcome, "MCPIST_ALLOWED_PRIVATE_HOSTS" in check.message) == ("failed", True)
        await stage.administration.put(ACTOR, stage.change(), despite_failures=True)
        assert await signed_in(stage) == ""


async def test_a_provider_of_the_file_wins_and_is_not_changed(
    database: ScratchDatabase, company: OauthProvider
) -> None:
    of_file = oidc(company.issuer, company.client_id, company.client_secret) | {"label": "Of the file"}
    async with stage_on(database, company, of_file) as stage:
        await stage.administration.put(ACTOR, stage.change())  # by a process without that file
        text = await page(stage)
        assert text.count('value="company"') == 1
        assert "Of the file" in text


async def test_two_changes_at_once_lose_nothing(stage: Stage) -> None:
    store = stage.administration._store
    await stage.administration.put(ACTOR, stage.change())
    before = await store.find("identity_provider", "company")
    assert before is not None
    await store.put(ACTOR, "identity_provider", "company", before.settings, Secret("one"), before)
    with pytest.raises(Conflict):
        await store.put(ACTOR, "identity_provider", "company", before.settings, Secret("two"), before)
    with pytest.raises(Conflict):
        await store.put(ACTOR, "identity_provider", "company", before.settings, Secret("two"), None)


async def test_a_rewrapped_secret_opens_and_a_changed_row_does_not(stage: Stage) -> None:
    await stage.administration.put(ACTOR, stage.change())
    broker = stage.people.broker
    deployment = await broker.call("SELECT id FROM core.deployment")
    new = InMemoryKeyProvider("k2", KEYS)
    assert await rewrap_keys(broker, new, DeploymentSettingRows(deployment), lambda: None) == 1
    assert await rewrap_keys(broker, new, DeploymentSettingRows(deployment), lambda: None) == 0
    assert await stage.people.value("SELECT kek_id FROM auth.deployment_settings") == "k2"
    assert await signed_in(stage) == "ada@acme.test"
    await stage.people.execute("UPDATE auth.deployment_settings SET version = version + 1")  # an old secret put back
    assert await signed_in(stage) == ""
    assert "Company" in await page(stage)
