"""AWS KMS as moto serves it: the real wire protocol, which botocore speaks as it would with AWS."""

import contextlib
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import botocore.session
import pytest
from moto.server import ThreadedMotoServer

REGION = "eu-central-1"


@dataclass(frozen=True, slots=True)
class AwsAccount:
    """An account with KMS; `kms` is its administrator's client."""

    url: str
    kms: Any

    def key(self) -> str:
        """The ARN of a new key."""
        return self.kms.create_key()["KeyMetadata"]["Arn"]

    def alias(self, name: str, key: str) -> str:
        """The ARN of an alias of a key."""
        self.kms.create_alias(AliasName=f"alias/{name}", TargetKeyId=key)
        return key.partition(":key/")[0] + f":alias/{name}"

    def set_environment(self, patch: pytest.MonkeyPatch) -> None:
        """What botocore finds by itself on a machine that may use the keys."""
        patch.setenv("AWS_ACCESS_KEY_ID", "made-up-id-for-tests")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "made-up-secret-for-tests")
        patch.setenv("AWS_ENDPOINT_URL_KMS", self.url)
        patch.setenv("AWS_EC2_METADATA_DISABLED", "true")


@contextlib.contextmanager
def aws_account() -> Iterator[AwsAccount]:
    """moto's server, on loopback."""
    quiet = logging.getLogger("werkzeug")
    level = quiet.level
    quiet.setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        url = f"http://{host}:{port}"
        client: Any = botocore.session.get_session().create_client(
            "kms", region_name=REGION, endpoint_url=url, aws_access_key_id="made-up", aws_secret_access_key="made-up"
        )
        yield AwsAccount(url, client)
        client.close()
    finally:
        server.stop()
        quiet.setLevel(level)
