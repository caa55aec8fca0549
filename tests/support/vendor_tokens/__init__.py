"""Vendors' token endpoints on loopback, each with the habits that vendors.md §2 tells of.

    async with vendor_tokens(STYLES["github"]) as vendor:
        code = vendor.consent(scopes=["repo"], redirect_uri=…, verifier=…)
        provider, client = vendor.provider, vendor.client
        … HttpTokenEndpointClient(http).code(provider, client, code, …)
        vendor.faults.append(Fault("hang_up_after"))
        vendor.presented, vendor.reused, vendor.alive(token)

`provider` is the product's own, with the vendor's hosts replaced by this one: paths, bodies, headers and the client's
authentication have to be as the vendor has them, or it refuses. tests/support/oauth_provider is the generic one.
"""

from tests.support.vendor_tokens.server import VendorTokens, vendor_tokens
from tests.support.vendor_tokens.state import Fault
from tests.support.vendor_tokens.styles import STYLES, Style

__all__ = ["STYLES", "Fault", "Style", "VendorTokens", "vendor_tokens"]
