"""Where a stored credential may be sent: to the origins that it was connected for, whatever the service says now."""

import pytest

from broker.vault.origin_policy import OriginPolicy

BOUNDS = OriginPolicy({"shop": "https://api.shop.test/v3"})
OTHER = "https://shop.acme.test"


def test_stored_origins_count_and_else_the_module_s_own() -> None:
    assert BOUNDS.get_origins("shop", [OTHER]) == (OTHER,)
    assert BOUNDS.get_origins("shop", []) == ("https://api.shop.test",)
    assert BOUNDS.get_origins("made_up", []) == (), "a module that is not there has no address of its own"


@pytest.mark.parametrize(
    ("origins", "base_url", "elsewhere"),
    [
        ([], None, False),
        ([], "https://api.shop.test/v4", False),
        ([], "https://shop.acme.test", True),
        (["https://shop.acme.test"], "https://shop.acme.test/api", False),
        (["https://shop.acme.test"], None, True),
        (["https://shop.acme.test"], "https://api.shop.test", True),
        (["https://shop.acme.test"], "http://shop.acme.test", True),
        (["https://shop.acme.test"], "https://shop.acme.test.evil.test", True),
        ([], 7, True),
    ],
)
def test_a_service_at_another_address(origins: list[str], base_url: object, elsewhere: bool) -> None:
    settings = {} if base_url is None else {"base_url": base_url}
    assert BOUNDS.is_origin_changed("shop", origins, settings) is elsewhere
