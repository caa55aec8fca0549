"""Whether what a vendor granted may be enough for a tool, with the providers as they are."""

import pytest

from broker.oauth_client.vendor_scopes import covers_module
from broker.providers.catalogue import load_builtin_providers

CASES = [
    # provider, module, granted, enough to read, enough to change something
    ("atlassian", "jira", ["read:me", "read:jira-work"], True, False),
    ("atlassian", "jira", ["read:me", "write:jira-work"], False, True),
    ("microsoft", "microsoft_todo", ["https://graph.microsoft.com/Tasks.Read"], True, False),
    ("github_oauth_app", "github", ["read:user"], False, False),
    ("github_oauth_app", "github", ["read:user", "repo"], True, True),
    ("github", "github", [], True, True),
    ("notion", "notion", [], True, True),
]


@pytest.mark.parametrize(("provider", "module", "granted", "reads", "writes"), CASES)
def test_what_a_grant_is_enough_for(provider: str, module: str, granted: list[str], reads: bool, writes: bool) -> None:
    known = load_builtin_providers().known[provider]
    assert covers_module(known, module, granted, reading=True) is reads
    assert covers_module(known, module, granted, reading=False) is writes


def test_every_provider_of_ours_suffices_with_all_that_it_is_asked_for() -> None:
    for provider in load_builtin_providers().known.values():
        for module, families in provider.modules.items():
            for reading in (True, False):
                assert covers_module(provider, module, [*families.reading, *families.writing], reading=reading)


def test_a_module_that_a_provider_does_not_name_is_left_to_the_vendor() -> None:
    assert covers_module(load_builtin_providers().known["google"], "made_up", [], reading=False)
