"""What metrics say of all accounts of a deployment."""

from server.deployment_figures import DeploymentFigures
from tests.broker.refresh.refresh_app import RefreshApp
from tests.broker.refresh.vendor import Vendor


async def test_figures_of_accounts_clients_and_notices(app: RefreshApp, vendors: dict[str, Vendor]) -> None:
    figures = DeploymentFigures(app.database)
    assert figures.get_accounts() == {"active": 0, "needs_reauth": 0, "disabled": 0}, "before the first look"
    kept, ended = await app.connect(vendors["strict"]), await app.connect(vendors["grace"])
    await app.execute("UPDATE vault.accounts SET last_used_at = vault.clock()")
    await figures.load()
    assert figures.get_accounts() == {"active": 2, "needs_reauth": 0, "disabled": 0}
    assert [figures.get_number(name) for name in ("accounts_overdue", "oauth_clients_rejected")] == [0, 0]

    late = "vault.clock() - interval '11 minutes'"
    await app.execute(f"UPDATE vault.accounts SET refresh_at = {late} WHERE id = $1", kept)
    await app.execute(
        "UPDATE vault.accounts SET status = 'needs_reauth', reauth_at = vault.clock() WHERE id = $1", ended
    )
    await app.execute("UPDATE vault.notices SET created_at = vault.clock() - interval '16 minutes'")
    await figures.load()
    assert figures.get_accounts() == {"active": 1, "needs_reauth": 1, "disabled": 0}
    assert figures.get_number("accounts_overdue") == 1
    assert figures.get_number("notices_waiting") == 1, "the owner of the account that ended was not told"

    await app.execute("UPDATE vault.accounts SET next_try_at = vault.clock() + interval '1 minute' WHERE id = $1", kept)
    await figures.load()
    assert figures.get_number("accounts_overdue") == 0, "it waits for its next try"
    await app.execute("UPDATE vault.accounts SET next_try_at = NULL, last_used_at = NULL WHERE id = $1", kept)
    await figures.load()
    assert figures.get_number("accounts_overdue") == 0, "nobody uses it: it is refreshed when somebody does"

    await app.execute("UPDATE vault.oauth_clients SET state = 'misconfigured', cause = 'invalid_client'")
    await figures.load()
    assert figures.get_number("oauth_clients_rejected") >= 1
