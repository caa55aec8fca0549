"""How long audit logs are kept, at the command line."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.cli.conftest import Home


def shown(cli: Home) -> Mapping[str, Any]:
    return cli.run("audit", "retention", "--deployment", "--json").json()


def test_retention_is_shown_set_and_reset(cli: Home, tenant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as long_ago:
        long_ago.setattr("server.role_database.get_utc_now", lambda: datetime(2001, 5, 5, tzinfo=UTC))
        assert cli.run("audit", "anchors").code == 0  # it seals, and so makes the month of its time
    assert "Everything is kept" in cli.run("audit", "retention", "--tenant", tenant).out
    assert (shown(cli)["stored_keep_months"], shown(cli)["oldest_month"]) == (None, "2001-05-01")

    keep = ("audit", "retention", "set", "--keep-months", "24")
    refused = cli.run(*keep)
    assert refused.code == 2
    found = re.search(
        r"this permanently deletes (\d+) days of the logs of all tenants, everything before \d{4}-\d\d-01", refused.err
    )
    assert found is not None, refused.err
    assert cli.run(*keep, "--confirm", "24").code == 2, "the days, not the months"
    assert shown(cli)["stored_keep_months"] is None
    stored = cli.run(*keep, "--confirm", found[1], "--json").json()
    assert (stored["keep_months"], stored["stored_keep_months"], stored["default_keep_months"]) == (24, 24, None)
    assert "Kept for 24 whole months" in cli.run("audit", "retention", "--tenant", tenant).out
    assert "Stored: 24 months. MCPIST_AUDIT_KEEP_MONTHS: everything." in cli.run(*keep[:2], "--deployment").out
    (entry, *_) = cli.run("audit", "--deployment", "--kind", "audit_retention", "--json").json()["items"]
    assert (entry["kind"], entry["detail"]) == ("audit_retention.set", {"before_months": 0, "keep_months": 24})

    assert cli.run(*keep[:3], "--keep-months", "0").code == 2
    assert cli.run(*keep[:2], "--deployment", "--tenant", tenant).code == 2
    assert cli.run(*keep[:2], "reset", "--json").json()["keep_months"] is None

    # For a timer where no `mcpist up` runs, with what counts there.
    apply = ("audit", "retention", "apply", "--json")
    assert cli.run(*apply, MCPIST_AUDIT_KEEP_MONTHS="1200").json() == {"dropped_months": []}
    assert "2001-05" in cli.run(*apply, MCPIST_AUDIT_KEEP_MONTHS="24").json()["dropped_months"]
    assert cli.run(*apply, MCPIST_AUDIT_KEEP_MONTHS="24").json() == {"dropped_months": []}
