"""A vendor's own word on a credential, by the request that its module's manifest names."""

from uuid import uuid4

import pytest

from broker.oauth_client.module_account import ModuleAccountClient
from broker.oauth_client.userinfo import UserinfoClient
from broker.oauth_client.vendor_http import VendorHttpClient
from broker.rejections.recheck import VendorCredentialProbe
from broker.rejections.rejected_credentials import RejectedCredential
from broker.rejections.verdicts import CredentialVerdict
from core.http.outbound_addresses import AllowedAddresses
from core.secret import Secret
from gateway.module_manifests import build_module_manifest
from modules.google_health import MODULE as GOOGLE_HEALTH
from modules.toggl import MODULE as TOGGL
from tests.support.toggl_double import TOGGL_SCHEME, toggl_double
from tests.support.vendor_double import VendorRefusal, VendorReply


@pytest.mark.parametrize(
    ("secret", "refusal", "verdict"),
    [
        ("full", None, CredentialVerdict.ACCEPTED),
        ("reset", None, CredentialVerdict.REJECTED),
        ("full", VendorRefusal(401, "no"), CredentialVerdict.REJECTED),
        ("full", VendorRefusal(404, "no"), CredentialVerdict.ACCEPTED),
        ("full", VendorReply(500, b""), CredentialVerdict.UNKNOWN),
        ("full", VendorRefusal(429, ""), CredentialVerdict.BUSY),
    ],
)
async def test_toggl_rejects_a_token_with_403(
    secret: str, refusal: VendorRefusal | VendorReply | None, verdict: CredentialVerdict
) -> None:
    async with toggl_double() as toggl:
        toggl.refusals[:] = [refusal]
        http = VendorHttpClient(AllowedAddresses.from_hosts([toggl.url.removeprefix("http://")]))
        await http.open()
        try:
            probe = VendorCredentialProbe([build_module_manifest(TOGGL)], ModuleAccountClient(UserinfoClient(http)))
            suspect = RejectedCredential(
                uuid4(), "toggl", "A", None, 1, toggl.url, Secret(secret), TOGGL_SCHEME, (toggl.url,), {}, 0, 0.0, False
            )  # fmt: skip
            assert (await probe(suspect, {"base_url": toggl.url})).verdict is verdict
        finally:
            await http.close()


def test_another_vendors_403_is_about_a_right() -> None:
    manifest = build_module_manifest(GOOGLE_HEALTH)
    assert [manifest.is_rejection(status) for status in (401, 403, None)] == [True, False, False]
