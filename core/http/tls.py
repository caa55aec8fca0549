"""The certificate authorities that the system trusts."""

import functools
import ssl


@functools.cache
def get_system_tls_context() -> ssl.SSLContext:
    """Verifies certificates and host names; for HTTP/1.1. Whoever asks shares it: reading the authorities takes 25 ms.

    Nobody may change it; a context with more authorities starts from :func:`verifying`.
    """
    return create_tls_context()


def create_tls_context() -> ssl.SSLContext:
    """A new one."""
    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    return context
