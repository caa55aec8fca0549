"""A service token counts once, for one request, for seconds, from a known gateway."""

import base64
import json
import os
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from broker.rpc.gateway_keys import TrustedGateways, load_private_key, load_public_keys, make_key_pair
from broker.rpc.service_token import (
    AUDIENCE,
    CLOCK_SKEW,
    HEADER,
    LIFETIME,
    MAX_LIFETIME,
    MAX_REMEMBERED_IDS,
    REPLAY_WINDOW,
    Claims,
    InvalidServiceToken,
    ServiceTokenSigner,
    ServiceTokenVerifier,
    hash_body,
)
from core.errors import Invalid

BODY = b'{"subject_token":"x"}'
REQUEST = ("POST", "/v1/verify")


@dataclass
class Both:
    """A gateway's key, a broker that knows it, and the clock of each."""

    folder: Path
    sender: float = 1_000_000.0
    receiver: float = 1_000_000.0
    steady: float = 0.0
    key: ServiceTokenSigner = field(init=False)
    tokens: ServiceTokenVerifier = field(init=False)

    def __post_init__(self) -> None:
        private, public = self.folder / "gateway.pem", self.folder / "gateways.pem"
        make_key_pair(private, public)
        self.key = ServiceTokenSigner(load_private_key(private), clock=lambda: self.sender)
        gateways = TrustedGateways(public, clock=lambda: self.steady)
        self.tokens = ServiceTokenVerifier(gateways, clock=lambda: self.receiver, monotonic=lambda: self.steady)

    def claims(self, **changed: object) -> Claims:
        given = Claims(
            self.key.gateway,
            AUDIENCE,
            self.sender,
            self.sender + LIFETIME,
            os.urandom(16).hex(),
            *REQUEST,
            hash_body(BODY),
        )
        return msgspec.structs.replace(given, **changed)

    def check(self, token: str, *, body: bytes = BODY, method: str = "POST", path: str = "/v1/verify") -> str:
        """How it is refused; nothing if it is not."""
        try:
            self.tokens.consume(self.tokens.verify(token, method, path), body)
        except InvalidServiceToken as error:
            return error.cause
        return ""


@pytest.fixture
def both(tmp_path: Path) -> Both:
    return Both(tmp_path)


def test_once(both: Both) -> None:
    token = both.key.sign(*REQUEST, BODY)
    assert both.check(token) == ""
    assert both.check(token) == "used before"


def test_for_its_own_request_only(both: Both) -> None:
    token = both.key.sign(*REQUEST, BODY)
    assert both.check(token, body=BODY + b" ") == "for another body"
    assert both.check(token, body=b"") == "for another body"
    assert both.check(token, path="/v1/status") == "for another request"
    assert both.check(token, path="/v1/verify/") == "for another request"
    assert both.check(token, method="GET") == "for another request"
    assert both.check(token) == "", "none of these has used it up"


@pytest.mark.parametrize(
    ("late", "cause"),
    [
        (-CLOCK_SKEW - 0.1, "expired, or the clocks differ"),
        (-CLOCK_SKEW + 0.1, ""),
        (LIFETIME + CLOCK_SKEW - 0.1, ""),
        (LIFETIME + CLOCK_SKEW + 0.1, "expired, or the clocks differ"),
        (-3600, "expired, or the clocks differ"),
    ],
)
def test_time(both: Both, late: float, cause: str) -> None:
    both.receiver += late
    assert both.check(both.key.sign(*REQUEST, BODY)) == cause


@pytest.mark.parametrize("life", [0, -1, MAX_LIFETIME + 0.1, 1e300])
def test_nobody_lives_longer_than_half_a_minute(both: Both, life: float) -> None:
    assert both.check(both.key.sign_claims(both.claims(exp=both.sender + life))) == "wrong lifetime"


def test_replay_memory_outlives_the_token(both: Both) -> None:
    """Used at the first moment at which it counts, presented again at the last one."""
    both.receiver -= CLOCK_SKEW
    token = both.key.sign_claims(both.claims(exp=both.sender + MAX_LIFETIME))
    assert both.check(token) == ""
    both.receiver += MAX_LIFETIME + 2 * CLOCK_SKEW
    both.steady += MAX_LIFETIME + 2 * CLOCK_SKEW
    assert both.check(token) == "used before"


def test_replay_memory_is_bounded_and_forgets(both: Both) -> None:
    token = both.claims()
    for number in range(MAX_REMEMBERED_IDS):
        both.tokens.consume(msgspec.structs.replace(token, jti=f"{number:032x}"), BODY)
    assert both.check(both.key.sign(*REQUEST, BODY)) == "used before", "full: refused, nothing is forgotten early"
    both.tokens.consume(both.claims(iss="another gateway"), BODY)
    both.steady += REPLAY_WINDOW + 1
    assert both.check(both.key.sign(*REQUEST, BODY)) == ""


def test_a_stranger_s_key(both: Both) -> None:
    stranger = ServiceTokenSigner(Ed25519PrivateKey.generate(), clock=lambda: both.sender)
    assert both.check(stranger.sign(*REQUEST, BODY)) == "unknown gateway"
    assert both.check(stranger.sign_claims(both.claims())) == "wrong signature", "it takes the name of a known one"


@pytest.mark.parametrize("claim", ["iss", "aud", "htm", "htu", "body_sha256"])
def test_each_claim_counts(both: Both, claim: str) -> None:
    assert both.check(both.key.sign_claims(both.claims(**{claim: "x"}))) != ""


def test_every_changed_byte_is_noticed(both: Both) -> None:
    token = both.key.sign(*REQUEST, BODY)
    for place in range(len(token) - 1):  # of the last digit some bits carry nothing
        other = "A" if token[place] != "A" else "B"
        assert both.check(token[:place] + other + token[place + 1 :]) != "", place
    assert both.check(token) == ""


@pytest.mark.parametrize("header", [{"alg": "none"}, {"alg": "HS256", "typ": "JWT"}, {"alg": "EdDSA", "typ": "JWT"}])
def test_no_other_algorithm(both: Both, header: dict[str, str]) -> None:
    _, payload, signature = both.key.sign(*REQUEST, BODY).split(".")
    made = base64.urlsafe_b64encode(json.dumps(header).encode()).rstrip(b"=").decode()
    assert both.check(f"{made}.{payload}.{signature}") == "malformed"
    assert both.check(f"{made}.{payload}.") == "malformed"


@pytest.mark.parametrize(
    "token",
    ["", ".", "..", "a.b.c", f"{HEADER.decode()}..", f"{HEADER.decode()}.e30.AA", "é.é.é", "x" * 100_000, "\0.\0.\0",
     HEADER.decode() + "." + base64.urlsafe_b64encode(b'{"iss":1,"iss":[[[[' * 10).decode() + ".AA"],
)  # fmt: skip
def test_noise(both: Both, token: str) -> None:
    assert both.check(token) == "malformed"


def test_keys_come_and_go_without_a_stop(both: Both) -> None:
    public = both.folder / "gateways.pem"
    old = public.read_bytes()
    key = Ed25519PrivateKey.generate()
    added = ServiceTokenSigner(key, clock=lambda: both.sender)
    public.write_bytes(old + key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    both.steady += 2
    assert both.check(added.sign(*REQUEST, BODY)) == ""
    assert both.check(both.key.sign(*REQUEST, BODY)) == ""
    public.write_bytes(old)
    both.steady += 2
    assert both.check(added.sign(*REQUEST, BODY)) == "unknown gateway"
    public.write_text("damaged")
    both.steady += 2
    assert both.check(both.key.sign(*REQUEST, BODY)) == "", "the last good one counts"


def test_key_files(tmp_path: Path) -> None:
    private, public = tmp_path / "keys" / "gateway.pem", tmp_path / "keys" / "gateways.pem"
    make_key_pair(private, public)
    assert private.stat().st_mode & 0o777 == 0o600
    first = private.read_bytes(), public.read_bytes()
    make_key_pair(private, public)
    assert (private.read_bytes(), public.read_bytes()) == first
    private.chmod(0o640)
    with pytest.raises(Invalid, match="chmod 600"):
        load_private_key(private)
    public.chmod(0o666)
    with pytest.raises(Invalid, match="chmod go-w"):
        load_public_keys(public)
    public.chmod(0o644)
    other = generate_private_key(SECP256R1()).public_key()
    public.write_bytes(first[1] + other.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    with pytest.raises(Invalid, match="Ed25519"):
        load_public_keys(public)
    with pytest.raises(Invalid, match="cannot be read"):
        load_private_key(tmp_path / "missing.pem")
    private.chmod(0o600)
    private.write_bytes(first[1])
    with pytest.raises(Invalid, match="openssl genpkey"):
        load_private_key(private)
