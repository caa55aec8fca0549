"""The certificate authorities that the system trusts."""

import functools
import ssl


@functools.cache
def get_system_tls_context() -> ssl.SSLContext:
    """Return the shared context, which verifies certificates and host names, for HTTP/1.1. Reading the authorities
    takes 25 ms.

    It must not be changed; a context with more authorities starts from :func:`create_tls_context`.
    """
    return create_tls_context()


def create_tls_context() -> ssl.SSLContext:
    """Create a client context that verifies servers."""
    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    return context
