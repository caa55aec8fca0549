"""Which alerts go out and to whom: the tenant's settings, a person's own choice, and two tenants."""

from typing import Any

import pytest

from broker.notifications.preferences import ALERTS, AlertPreference, AlertSettings, NotificationPreferences
from core.audit.event import AuditEventKind
from core.errors import Invalid, NotFound
from tests.broker.broker_harness import ACTOR, BrokerHarness, Person
from tests.broker.notifications.test_teller import Post, people
from tests.support.mail_server import mail_server


@pytest.fixture
def post(app: BrokerHarness) -> Any:
    with mail_server() as server:
        yield Post(app, server)


def preferences(app: BrokerHarness) -> NotificationPreferences:
    return NotificationPreferences(app.trusted)


async def told(post: Post, *owners: Person) -> list[str]:
    """Whom the mails go to when an account of each owner breaks."""
    for owner in owners:
        await post.break_one(owner)
    await post.ahead(6)
    await post.teller().send_due()
    return sorted(str(message["To"]) for message in post.server.messages)


async def test_without_settings_the_owner_alone_is_told(post: Post) -> None:
    ada, eve = await people(post.app)
    settings = await preferences(post.app).list_settings(ada.tenant_id)
    assert settings == [AlertSettings(alert) for alert in ALERTS]
    assert await told(post, ada, eve) == ["ada@acme.test", "eve@globex.test"]


async def test_a_tenant_switches_an_alert_off_and_no_other_tenant_notices(post: Post) -> None:
    ada, eve = await people(post.app)
    await preferences(post.app).put_settings(ACTOR, ada.tenant_id, AlertSettings("credential", mail=False))
    assert await told(post, ada, eve) == ["eve@globex.test"]
    assert sorted(await post.outcomes()) == ["nobody", "told"]
    assert (await preferences(post.app).list_settings(eve.tenant_id))[2] == AlertSettings("credential")


async def test_administrators_and_further_addresses(post: Post) -> None:
    ada, _ = await people(post.app)
    boss = await post.app.person(ada.tenant_id, "boss@acme.test")
    await post.app.execute("UPDATE core.users SET system_role = 'admin' WHERE id = $1", boss.id)
    wanted = AlertSettings("credential", administrators=True, addresses=("Ops@acme.test", "ada@acme.test"))
    stored = await preferences(post.app).put_settings(ACTOR, ada.tenant_id, wanted)
    assert list(stored.addresses) == ["ada@acme.test", "ops@acme.test"]
    assert await told(post, ada) == ["ada@acme.test", "boss@acme.test", "ops@acme.test"]


async def test_a_person_who_wants_no_mail_gets_none(post: Post) -> None:
    ada, _ = await people(post.app)
    bob = await post.app.person(ada.tenant_id, "bob@acme.test")
    kept = preferences(post.app)
    await kept.put_preference(ACTOR, ada.tenant_id, ada.id, AlertPreference("credential", mail=False))
    assert await kept.list_preferences(ada.tenant_id, ada.id) == [
        AlertPreference(alert, mail=alert != "credential") for alert in ALERTS
    ]
    assert await told(post, ada, bob) == ["bob@acme.test"]
    await kept.put_preference(ACTOR, ada.tenant_id, ada.id, AlertPreference("credential", mail=True))
    post.server.messages.clear()
    await post.app.execute("UPDATE vault.credentials SET state = 'ok'")
    await post.app.execute("UPDATE vault.credentials SET state = 'broken', cause = 'rejected'")
    await post.ahead(12)
    await post.teller().send_due()
    assert sorted(str(message["To"]) for message in post.server.messages) == ["ada@acme.test", "bob@acme.test"]


async def test_what_is_wrong_is_refused_and_what_changes_is_audited(post: Post) -> None:
    ada, eve = await people(post.app)
    kept = preferences(post.app)
    for addresses in (("no address",), tuple(f"a{number}@acme.test" for number in range(21))):
        with pytest.raises(Invalid):
            await kept.put_settings(ACTOR, ada.tenant_id, AlertSettings("account", addresses=addresses))
    with pytest.raises(NotFound):
        await kept.put_preference(ACTOR, ada.tenant_id, eve.id, AlertPreference("account"))
    await kept.put_settings(ACTOR, ada.tenant_id, AlertSettings("account", webhook=False))
    async with post.app.database.admin_connection() as admin:
        records = [row["record"] for row in await admin.fetch("SELECT record FROM audit.incoming ORDER BY id")]
    assert sum(AuditEventKind.NOTIFICATIONS_CHANGED.encode() in record for record in records) == 1
