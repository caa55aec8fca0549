"""Client authentication by a certificate in the place of a secret: a signed assertion (private_key_jwt, RFC 7523 §2.2;
Microsoft, *Certificate credentials*).

What is stored as the client's secret is then a private key and its certificate, as PEM. The server knows the
certificate, and finds it by the assertion's ``x5t#S256``.
"""

import base64
import secrets
from datetime import datetime
from typing import NamedTuple

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from joserfc.jwk import ECKey, RSAKey

from broker.authorization_server.jose import MAX_RSA_BITS, MIN_RSA_BITS, sign_jwt
from core.errors import Invalid
from core.secret import Secret

PRIVATE_KEY_JWT = "private_key_jwt"
ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
ASSERTION_SECONDS = 300
MAX_PEM_LENGTH = 16_384

PEM_FORM = (
    "give a private key (RSA, 2048 to 8192 bits, or EC P-256) without a passphrase and its certificate, both as PEM"
)


class SigningCertificate(NamedTuple):
    """A private key and the certificate that belongs to it."""

    key: RSAKey | ECKey
    algorithm: str
    thumbprint: str
    ends_at: datetime


def read_signing_certificate(pem: Secret) -> SigningCertificate:
    """Read a private key and its certificate.

    Raises:
        Invalid: there are not both, they do not belong together, or the key is of another kind; the text repeats
            nothing of them.
    """
    text = pem.reveal().encode()
    try:
        private = load_pem_private_key(text, password=None, unsafe_skip_rsa_key_validation=True)
        certificate = x509.load_pem_x509_certificate(text)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise Invalid(PEM_FORM) from None
    if isinstance(private, RSAPrivateKey) and MIN_RSA_BITS <= private.key_size <= MAX_RSA_BITS:
        algorithm, kind = "PS256", RSAKey
    elif isinstance(private, EllipticCurvePrivateKey) and isinstance(private.curve, SECP256R1):
        algorithm, kind = "ES256", ECKey
    else:
        raise Invalid(PEM_FORM)
    if private.public_key() != certificate.public_key():
        raise Invalid("the certificate is of another key than the private key")
    key = kind.import_key(private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    thumbprint = _encode(certificate.fingerprint(SHA256()))
    return SigningCertificate(key, algorithm, thumbprint, certificate.not_valid_after_utc)


def build_client_assertion(client_id: str, pem: Secret, audience: str, now: datetime) -> dict[str, str]:
    """Build the form fields by which a client proves itself at the token endpoint `audience`.

    Raises:
        Invalid: the stored key or certificate cannot be read.
    """
    certificate, issued_at = read_signing_certificate(pem), int(now.timestamp())
    claims = {
        "iss": client_id,
        "sub": client_id,
        "aud": audience,
        "jti": secrets.token_urlsafe(24),
        "iat": issued_at,
        "nbf": issued_at,
        "exp": issued_at + ASSERTION_SECONDS,
    }
    header = {"typ": "JWT", "x5t#S256": certificate.thumbprint}
    assertion = sign_jwt(certificate.key, header, claims, certificate.algorithm)
    return {"client_id": client_id, "client_assertion_type": ASSERTION_TYPE, "client_assertion": assertion}


def _encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")
