"""Keys in AWS KMS (Encrypt and Decrypt with an encryption context).

Credentials, regions and endpoints are found by botocore in its own ways: roles of machines, pods and tasks, profiles,
``AWS_*`` variables (``AWS_ENDPOINT_URL_KMS`` among them).
"""

import asyncio
import base64
import importlib
import logging
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from broker.vault.envelope import Unreadable
from broker.vault.key_services import Away, Denied, Throttled
from broker.vault.keys import Wrapped
from core.errors import Invalid

SCHEME = "aws-kms:"
MOST_AT_ONCE = 4
CONNECT_SECONDS = 2.0
READ_SECONDS = 3.0

THROTTLED = frozenset({"ThrottlingException", "Throttling", "TooManyRequestsException", "RequestLimitExceeded",
                       "LimitExceededException"})  # fmt: skip
AWAY = frozenset({"DependencyTimeoutException", "KMSInternalException", "KeyUnavailableException",
                  "InternalFailure", "ServiceUnavailable", "ServiceUnavailableException"})  # fmt: skip
UNREADABLE = frozenset({"InvalidCiphertextException", "IncorrectKeyException"})
REFUSALS = {
    "NotFoundException": "there is no such key",
    "DisabledException": "the key is disabled there",
    "KMSInvalidStateException": "the key is disabled there, or waits to be deleted",
    "InvalidKeyUsageException": "it is no key for ENCRYPT_DECRYPT",
}


class AwsKms:
    """One key of AWS KMS, by its ARN or the ARN of an alias. Implements :class:`broker.vault.key_services.KeyService`.

    botocore blocks, so it has a few threads of its own: a service that hangs fills those and no others.
    """

    def __init__(self, arn: str) -> None:
        """Raises:
        Invalid: botocore is not installed.
        """
        self._arn = arn
        self._owned = SCHEME + (arn.partition(":alias/")[0] + ":key/" if ":alias/" in arn else arn)
        self._exceptions = _library("botocore.exceptions")
        # At DEBUG it logs whole requests and answers, plain keys among them.
        quiet = logging.getLogger("botocore")
        quiet.setLevel(max(logging.INFO, quiet.getEffectiveLevel()))
        self._threads = ThreadPoolExecutor(MOST_AT_ONCE, thread_name_prefix="aws-kms")
        self._client: Any = None

    @property
    def title(self) -> str:
        return "AWS KMS"

    def owns(self, kek_id: str) -> bool:
        return kek_id.startswith(self._owned) if self._owned.endswith("/") else kek_id == self._owned

    async def encrypt(self, plain: bytes, context: bytes) -> Wrapped:
        answer = await self._run("encrypt", KeyId=self._arn, Plaintext=plain, EncryptionContext=_context(context))
        return Wrapped(SCHEME + answer["KeyId"], answer["CiphertextBlob"])

    async def decrypt(self, kek_id: str, wrapped: bytes, context: bytes) -> bytes:
        arn = kek_id.removeprefix(SCHEME)
        answer = await self._run("decrypt", KeyId=arn, CiphertextBlob=wrapped, EncryptionContext=_context(context))
        if answer["KeyId"] != arn:
            raise Unreadable
        return answer["Plaintext"]

    async def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        if self._client is not None:
            self._client.close()

    async def _run(self, operation: str, **parameters: Any) -> dict[str, Any]:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self._call, operation, parameters)

    def _call(self, operation: str, parameters: dict[str, Any]) -> dict[str, Any]:
        errors = self._exceptions
        try:
            return getattr(self._opened(), operation)(**parameters)
        except errors.ClientError as error:
            raise self._refusal(error.response) from None
        except (errors.NoCredentialsError, errors.PartialCredentialsError, errors.CredentialRetrievalError):
            raise Denied(f"no credentials for AWS KMS ({self._arn}): give this machine a role, or set AWS_*") from None
        except (errors.BotoCoreError, OSError):
            raise Away from None

    def _opened(self) -> Any:
        if self._client is None:
            config = _library("botocore.config").Config(
                connect_timeout=CONNECT_SECONDS,
                read_timeout=READ_SECONDS,
                max_pool_connections=MOST_AT_ONCE,
                retries={"total_max_attempts": 1},  # trying again is not its business: see key_services
            )
            session = _library("botocore.session").get_session()
            self._client = session.create_client("kms", region_name=self._arn.split(":")[3], config=config)
        return self._client

    def _refusal(self, response: dict[str, Any]) -> Exception:
        code = str(response.get("Error", {}).get("Code", ""))
        status = response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        if code in UNREADABLE:
            return Unreadable()
        if code in THROTTLED or status == 429:
            return Throttled()
        if code in AWAY or status >= 500:
            return Away()
        told = REFUSALS.get(code, "this machine's role may not use it (kms:Encrypt, kms:Decrypt)")
        return Denied(f"AWS KMS refuses the vault's key {self._arn}: {told}")


def _context(context: bytes) -> dict[str, str]:
    """AWS takes texts and shows them in CloudTrail; there are ids in it and no secret."""
    return {"mcpist": base64.b64encode(context).decode()}


def _library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise Invalid("keys in AWS KMS need one more package: pip install 'mcpist[aws]'") from None
