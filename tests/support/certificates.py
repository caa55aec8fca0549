"""A certificate for 127.0.0.1 that nobody vouches for but itself."""

import datetime
import ipaddress
import ssl
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa


@dataclass(frozen=True, slots=True)
class SelfSigned:
    """Its two files: who trusts the first believes who has the second."""

    certificate: Path
    key: Path

    def server(self) -> ssl.SSLContext:
        """For whoever shows it."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, self.key)
        return context

    def client(self) -> ssl.SSLContext:
        """For whoever trusts it, and nobody else."""
        return ssl.create_default_context(cafile=str(self.certificate))


def make_client_certificate(kind: str = "rsa", *, days: float = 30) -> tuple[str, x509.Certificate]:
    """Make a private key (``rsa`` or ``ec``) with its certificate, which ends in so many days: both as PEM in one text,
    and the certificate alone, which is what a server is given."""
    private = rsa.generate_private_key(65537, 2048) if kind == "rsa" else ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "MCPist at a vendor of a test")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder(name, name, private.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=60))
        .not_valid_after(now + datetime.timedelta(days=days))
        .sign(private, hashes.SHA256())
    )
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    key = private.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain)
    return f"{key.decode()}{made.public_bytes(pem).decode()}", made


def self_signed(folder: Path) -> SelfSigned:
    """Make one; its files lie in `folder`."""
    private = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "a server of a test")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder(name, name, private.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(private, hashes.SHA256())
    )
    return _write(SelfSigned(folder / "certificate.pem", folder / "key.pem"), made, private)


@dataclass(frozen=True, slots=True)
class Authority:
    """An authority of a test; `certificate` is its file."""

    certificate: Path
    key: ec.EllipticCurvePrivateKey
    made: x509.Certificate

    def issue(self, name: str, folder: Path, *, days: float = 1) -> SelfSigned:
        """Vouch for a common name at 127.0.0.1, until so many days from now; the files lie in `folder`."""
        private, now = ec.generate_private_key(ec.SECP256R1()), datetime.datetime.now(datetime.UTC)
        address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
        made = (
            x509.CertificateBuilder(self.made.subject, _name(name), private.public_key(), x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=30))
            .not_valid_after(now + datetime.timedelta(days=days))
            .add_extension(x509.SubjectAlternativeName([address]), critical=False)
            .sign(self.key, hashes.SHA256())
        )
        return _write(SelfSigned(folder / f"{name}.crt", folder / f"{name}.key"), made, private)


def make_authority(folder: Path) -> Authority:
    """Make one; its certificate lies in `folder`."""
    private, now = ec.generate_private_key(ec.SECP256R1()), datetime.datetime.now(datetime.UTC)
    name = _name("an authority of a test")
    made = (
        x509.CertificateBuilder(name, name, private.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(private, hashes.SHA256())
    )
    files = _write(SelfSigned(folder / "authority.crt", folder / "authority.key"), made, private)
    return Authority(files.certificate, private, made)


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, text)])


def _write(files: SelfSigned, made: x509.Certificate, private: ec.EllipticCurvePrivateKey) -> SelfSigned:
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    files.certificate.write_bytes(made.public_bytes(pem))
    files.key.touch(mode=0o600)
    files.key.write_bytes(private.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain))
    return files
