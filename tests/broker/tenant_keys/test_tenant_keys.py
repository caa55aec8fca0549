"""Keys of the tenant by the admin API: two tenants, the wrong caller, and vendors that take keys or do not."""

import logging
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from broker.tenant_keys.key_kinds import TenantKeyKinds
from core.http.origins import is_within_origins
from tests.admin_ui.admin_app import AdminApp, Tenant, app_on
from tests.broker.tenant_keys.embedding_vendor import EmbeddingVendor
from tests.support.postgres import ScratchDatabase

PATH = "/tenant-keys"
VOYAGE_KEY, OTHER_VOYAGE_KEY, OPENAI_KEY = "pa-one-0f3a", "pa-two-77bc", "sk-proj-5e1d"


@pytest.fixture
async def vendor() -> AsyncIterator[EmbeddingVendor]:
    async with EmbeddingVendor({VOYAGE_KEY, OTHER_VOYAGE_KEY, OPENAI_KEY}) as server:
        yield server


@pytest.fixture
async def app(database: ScratchDatabase, vendor: EmbeddingVendor) -> AsyncIterator[AdminApp]:
    async with app_on(database, vendor.host, key_kinds=vendor.kinds) as made:
        yield made


@pytest.fixture
async def acme(app: AdminApp) -> Tenant:
    return await app.tenant("acme")


async def test_a_key_from_stored_to_removed(app: AdminApp, acme: Tenant, vendor: EmbeddingVendor) -> None:
    globex = await app.tenant("globex")
    async with (
        app.browser(acme.admin) as admin,
        app.browser(acme.user) as user,
        app.browser(globex.admin) as elsewhere,
        app.script(acme.admin.token) as script,
        app.caller() as nobody,
    ):
        before = (await admin.get(PATH)).json()["keys"]
        assert [(one["kind"], one["stored"]) for one in before] == [
            ("openai", False), ("pigeon", False), ("voyage", False),
        ]  # fmt: skip
        assert before[2] == {
            "kind": "voyage",
            "title": "Voyage AI",
            "hosts": [vendor.host],
            "manage_url": "https://dashboard.voyageai.com/organization/api-keys",
            "stored": False,
            "created_at": None,
            "updated_at": None,
            "last_used_at": None,
        }
        saved = await admin.put(f"{PATH}/voyage", json={"secret": VOYAGE_KEY})
        assert saved.status_code == 200, saved.text
        assert saved.json()["trial"] == {
            "outcome": "ok",
            "message": "Voyage AI takes the key",
            "message_ja": "Voyage AI はキーを受け付けました",
        }
        assert vendor.asked == [{"model": "voyage-3.5-lite", "input": ["a"]}]
        listed = await admin.get(PATH)
        assert listed.json()["keys"][2] == saved.json()["key"]
        assert saved.json()["key"]["stored"]
        assert VOYAGE_KEY[3:] not in saved.text + listed.text
        app.clock.ahead += timedelta(minutes=1)
        again = (await admin.put(f"{PATH}/voyage", json={"secret": OTHER_VOYAGE_KEY})).json()["key"]
        assert again["created_at"] == saved.json()["key"]["created_at"]
        assert again["updated_at"] > saved.json()["key"]["updated_at"]
        assert (await elsewhere.get(PATH)).json()["keys"] == before
        for stranger, status in ((user, 403), (nobody, 401)):
            assert (await stranger.get(PATH)).status_code == status
            assert (await stranger.put(f"{PATH}/voyage", json={"secret": VOYAGE_KEY})).status_code == status
            assert (await stranger.delete(f"{PATH}/voyage")).status_code == status
        assert (await script.put(f"{PATH}/voyage", json={"secret": VOYAGE_KEY})).status_code == 403, "no sign-in"
        assert (await elsewhere.delete(f"{PATH}/voyage")).status_code == 404
        assert (await elsewhere.put(f"{PATH}/voyage", json={"secret": VOYAGE_KEY})).status_code == 200
        assert (await admin.delete(f"{PATH}/voyage")).status_code == 204
        assert (await admin.delete(f"{PATH}/voyage")).status_code == 404
        assert (await admin.get(PATH)).json()["keys"] == before
        assert (await elsewhere.get(PATH)).json()["keys"][2]["stored"]
    await app.seal()
    async with app.browser(acme.admin) as admin:
        events = (await admin.get("/audit", params={"kind": "tenant_key"})).json()["items"]
    assert [(one["kind"], one["detail"]) for one in events] == [
        ("tenant_key.removed", {"name": "voyage"}),
        ("tenant_key.set", {"name": "voyage"}),
        ("tenant_key.set", {"name": "voyage"}),
    ]


NO_KEYS = (
    ("voyage", "sk-proj-5e1d", "must begin with pa-"),
    ("voyage", "al-of-atlas", "must begin with pa-"),
    ("openai", "pa-one-0f3a", "must begin with sk-"),
    ("openai", "sk-with space", "one word"),
    ("openai", "sk-with\nline", "one word"),
    ("openai", "sk-キー", "one word"),
    ("openai", "sk-" + "x" * 498, ""),
    ("openai", "", ""),
)


async def test_what_is_no_key_is_sent_nowhere(app: AdminApp, acme: Tenant, vendor: EmbeddingVendor) -> None:
    async with app.browser(acme.admin) as admin:
        for kind, key, expected in NO_KEYS:
            answer = await admin.put(f"{PATH}/{kind}", json={"secret": key, "despite_failures": True})
            assert answer.status_code in (400, 422), (kind, key)
            assert expected in answer.text
            assert not key or key not in answer.text
    assert vendor.asked == []
    assert await app.value("SELECT count(*) FROM vault.tenant_keys") == 0


async def test_an_unknown_kind_is_none(app: AdminApp, acme: Tenant, vendor: EmbeddingVendor) -> None:
    async with app.browser(acme.admin) as admin:
        for kind in ("made_up", "VOYAGE", "voyage%20", "%00", "x" * 40):
            for answer in (
                await admin.put(f"{PATH}/{kind}", json={"secret": VOYAGE_KEY}),
                await admin.delete(f"{PATH}/{kind}"),
            ):
                assert answer.status_code == 404, (kind, answer.text)
    assert vendor.asked == []


FAILURES = (
    (200, "sk-unknown-a1", "refused", "OpenAI does not take the key"),
    (403, OPENAI_KEY, "refused", "OpenAI does not take the key"),
    (429, OPENAI_KEY, "unknown", "no credit"),
    (500, OPENAI_KEY, "unknown", "OpenAI answers 500"),
)


async def test_a_key_that_its_vendor_does_not_take_is_stored_only_if_that_is_meant(
    app: AdminApp, vendor: EmbeddingVendor
) -> None:
    for number, (vendor.status, key, outcome, expected) in enumerate(FAILURES):
        tenant = await app.tenant(f"tenant{number}")
        await try_and_store(app, tenant, key, outcome, expected)


async def try_and_store(app: AdminApp, tenant: Tenant, key: str, outcome: str, expected: str) -> None:
    async with app.browser(tenant.admin) as admin:
        refused = await admin.put(f"{PATH}/openai", json={"secret": key})
        assert (refused.status_code, expected in refused.text) == (409, True), refused.text
        assert not (await admin.get(PATH)).json()["keys"][0]["stored"]
        saved = await admin.put(f"{PATH}/openai", json={"secret": key, "despite_failures": True})
        assert saved.status_code == 200
        assert (saved.json()["trial"]["outcome"], saved.json()["key"]["stored"]) == (outcome, True)
        assert expected in saved.json()["trial"]["message"]
    assert key not in refused.text + saved.text, "what a vendor says is never shown"


async def test_a_vendor_that_is_away_and_one_that_is_not_asked(
    app: AdminApp, acme: Tenant, vendor: EmbeddingVendor
) -> None:
    async with app.browser(acme.admin) as admin:
        untried = await admin.put(f"{PATH}/pigeon", json={"secret": "coo"})
        assert (untried.status_code, untried.json()["trial"]["outcome"]) == (200, "untried")
        await vendor.__aexit__()
        away = await admin.put(f"{PATH}/voyage", json={"secret": VOYAGE_KEY})
        assert (away.status_code, "could not be asked" in away.text) == (409, True)


async def test_too_many_trials_are_refused(app: AdminApp, acme: Tenant, vendor: EmbeddingVendor) -> None:
    """Whoever has found a key cannot ask its vendor here without end."""
    async with app.browser(acme.admin) as admin:
        statuses = [
            (await admin.put(f"{PATH}/openai", json={"secret": f"sk-guess-{n}"})).status_code for n in range(25)
        ]
    assert set(statuses) == {409, 429}
    assert len(vendor.asked) < 25


async def test_no_key_in_the_database_or_a_log(
    app: AdminApp, acme: Tenant, vendor: EmbeddingVendor, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with app.browser(acme.admin) as admin:
        assert (await admin.put(f"{PATH}/voyage", json={"secret": VOYAGE_KEY})).status_code == 200
        assert (await admin.put(f"{PATH}/openai", json={"secret": "sk-not-known"})).status_code == 409
    row = await app.value("SELECT k::text FROM vault.tenant_keys k")
    assert VOYAGE_KEY.encode().hex() not in row
    told = " ".join(f"{record.getMessage()} {record.__dict__}" for record in caplog.records)
    assert VOYAGE_KEY not in told
    assert "sk-not-known" not in told


async def test_the_keys_end_with_their_tenant(app: AdminApp, acme: Tenant, vendor: EmbeddingVendor) -> None:
    async with app.browser(acme.admin) as admin:
        await admin.put(f"{PATH}/voyage", json={"secret": VOYAGE_KEY})
    await app.execute("DELETE FROM core.tenants WHERE tenant_id = $1", acme.id)
    assert await app.value("SELECT count(*) FROM vault.tenant_keys") == 0


def test_every_kind_is_tried_where_its_keys_may_be_sent() -> None:
    kinds = TenantKeyKinds().list()
    assert [kind.name for kind in kinds] == ["openai", "voyage"]
    for kind in kinds:
        assert kind.probe is not None
        assert is_within_origins(kind.probe.url, kind.origins)
        assert all(origin.startswith("https://") for origin in kind.origins)
