"""Where a stored credential may be sent: to the origins that it was connected for, whatever the service says now."""

import pytest

from broker.connections.credential_origins import list_host_origins
from broker.vault.origin_policy import OriginPolicy
from core.http.origins import get_origin
from core.module_manifest import ModuleManifest

BOUNDS = OriginPolicy({"shop": "https://api.shop.test/v3"}, {"shop": ("https://uploads.shop.test/v1",)})
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


@pytest.mark.parametrize(
    ("origins", "permitted"),
    [
        ([], ("https://api.shop.test", "https://uploads.shop.test")),
        (["https://api.shop.test"], ("https://api.shop.test", "https://uploads.shop.test")),
        ([OTHER], (OTHER,)),
        ([OTHER, "https://uploads.acme.test"], (OTHER, "https://uploads.acme.test")),
    ],
)
def test_further_hosts_are_for_the_public_vendor_s_credentials(origins: list[str], permitted: tuple[str, ...]) -> None:
    assert BOUNDS.list_permitted_origins("shop", origins) == permitted
    assert BOUNDS.get_origins("shop", origins) == permitted[: max(1, len(origins))]
    assert BOUNDS.list_permitted_origins("made_up", []) == ()


@pytest.mark.parametrize(
    ("base_url", "host", "same"),
    [
        ("https://api.github.com", "https://uploads.github.com", True),
        ("https://api.github.com", "https://github.com", True),
        ("https://api.github.com", "https://GitHub.com.:443/x", True),
        ("https://github.com", "https://uploads.github.com", True),
        ("https://api.vendor.co.uk", "https://up.vendor.co.uk", True),
        ("https://github.com", "https://evil.com", False),
        ("https://api.github.com", "https://evilgithub.com", False),
        ("https://api.github.com", "https://github.com.evil.com", False),
        ("https://api.vendor.co.uk", "https://evil.co.uk", False),
        ("https://api.github.com", "http://uploads.github.com", False),
        ("https://10.0.0.1", "https://10.0.0.2", False),
        ("https://10.0.0.1", "https://x.0.0.1", False),
        ("https://[fd00::1]", "https://[fd00::2]", False),
        ("http://127.0.0.1:1", "http://127.0.0.1:2", True),
    ],
)
def test_a_declaration_leads_no_credential_to_another_domain(base_url: str, host: str, same: bool) -> None:
    policy = OriginPolicy({"shop": base_url}, {"shop": (host,)})
    permitted = [get_origin(base_url)] + [get_origin(host)] * same
    assert policy.list_permitted_origins("shop", []) == tuple(permitted)
    assert get_origin(host) in policy.list_permitted_origins("shop", [get_origin(base_url), get_origin(host)])


def test_a_further_host_is_no_base_url() -> None:
    assert BOUNDS.is_origin_changed("shop", [], {"base_url": "https://uploads.shop.test"})


@pytest.mark.parametrize(
    ("settings", "origins"),
    [
        ({}, ()),
        ({"uploads_url": OTHER}, ()),
        ({"base_url": OTHER}, ()),
        ({"base_url": OTHER, "uploads_url": "https://Uploads.acme.test:443/x"}, ("https://uploads.acme.test",)),
        ({"base_url": OTHER, "uploads_url": 7, "other_url": "https://x.test"}, ()),
        ({"base_url": OTHER, "uploads_url": "no URL"}, ()),
    ],
)
def test_a_service_s_own_hosts_are_bound_with_its_base_url(settings: dict[str, object], origins: tuple[str]) -> None:
    public = {"uploads": "https://uploads.shop.test"}
    shop = ModuleManifest("shop", "Shop", "A shop.", (), {}, "https://api.shop.test/v3", hosts=public)
    assert list_host_origins(shop, {"shop": settings}) == origins
    assert list_host_origins(shop, {"till": settings}) == ()
