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

from broker.vault.envelope import DecryptionError, WrappedKey
from broker.vault.kms import KmsDenied, KmsThrottled, KmsUnreachable
from core.errors import Invalid

SCHEME = "aws-kms:"
MAX_CONCURRENT_CALLS = 4
CONNECT_SECONDS = 2.0
READ_SECONDS = 3.0

THROTTLING_ERRORS = frozenset({"ThrottlingException", "Throttling", "TooManyRequestsException", "RequestLimitExceeded",
                       "LimitExceededException"})  # fmt: skip
UNAVAILABLE_ERRORS = frozenset({"DependencyTimeoutException", "KMSInternalException", "KeyUnavailableException",
                  "InternalFailure", "ServiceUnavailable", "ServiceUnavailableException"})  # fmt: skip
DECRYPTION_ERRORS = frozenset({"InvalidCiphertextException", "IncorrectKeyException"})
DENIAL_TEXTS = {
    "NotFoundException": "there is no such key",
    "DisabledException": "the key is disabled there",
    "KMSInvalidStateException": "the key is disabled there, or waits to be deleted",
    "InvalidKeyUsageException": "it is no key for ENCRYPT_DECRYPT",
}


class AwsKms:
    """One key of AWS KMS, by its ARN or the ARN of an alias. Implements :class:`broker.vault.kms.KmsClient`.

    botocore blocks, so it has a few threads of its own: a service that hangs fills those and no others.
    """

    def __init__(self, arn: str) -> None:
        """Raises:
        Invalid: botocore is not installed.
        """
        self._arn = arn
        self._owned = SCHEME + (arn.partition(":alias/")[0] + ":key/" if ":alias/" in arn else arn)
        self._exceptions = _import_library("botocore.exceptions")
        # At DEBUG it logs whole requests and answers, plain keys among them.
        quiet = logging.getLogger("botocore")
        quiet.setLevel(max(logging.INFO, quiet.getEffectiveLevel()))
        self._threads = ThreadPoolExecutor(MAX_CONCURRENT_CALLS, thread_name_prefix="aws-kms")
        self._client: Any = None

    @property
    def title(self) -> str:
        return "AWS KMS"

    def owns(self, kek_id: str) -> bool:
        return kek_id.startswith(self._owned) if self._owned.endswith("/") else kek_id == self._owned

    async def encrypt(self, plain: bytes, context: bytes) -> WrappedKey:
        answer = await self._run(
            "encrypt", KeyId=self._arn, Plaintext=plain, EncryptionContext=_encode_context(context)
        )
        return WrappedKey(SCHEME + answer["KeyId"], answer["CiphertextBlob"])

    async def decrypt(self, kek_id: str, wrapped: bytes, context: bytes) -> bytes:
        arn = kek_id.removeprefix(SCHEME)
        answer = await self._run(
            "decrypt", KeyId=arn, CiphertextBlob=wrapped, EncryptionContext=_encode_context(context)
        )
        if answer["KeyId"] != arn:
            raise DecryptionError
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
            return getattr(self._open_client(), operation)(**parameters)
        except errors.ClientError as error:
            raise self._classify_error(error.response) from None
        except (errors.NoCredentialsError, errors.PartialCredentialsError, errors.CredentialRetrievalError):
            raise KmsDenied(
                f"no credentials for AWS KMS ({self._arn}): give this machine a role, or set AWS_*"
            ) from None
        except (errors.BotoCoreError, OSError):
            raise KmsUnreachable from None

    def _open_client(self) -> Any:
        if self._client is None:
            config = _import_library("botocore.config").Config(
                connect_timeout=CONNECT_SECONDS,
                read_timeout=READ_SECONDS,
                max_pool_connections=MAX_CONCURRENT_CALLS,
                retries={"total_max_attempts": 1},  # trying again is not its business: see key_services
            )
            session = _import_library("botocore.session").get_session()
            self._client = session.create_client("kms", region_name=self._arn.split(":")[3], config=config)
        return self._client

    def _classify_error(self, response: dict[str, Any]) -> Exception:
        code = str(response.get("Error", {}).get("Code", ""))
        status = response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        if code in DECRYPTION_ERRORS:
            return DecryptionError()
        if code in THROTTLING_ERRORS or status == 429:
            return KmsThrottled()
        if code in UNAVAILABLE_ERRORS or status >= 500:
            return KmsUnreachable()
        text = DENIAL_TEXTS.get(code, "this machine's role may not use it (kms:Encrypt, kms:Decrypt)")
        return KmsDenied(f"AWS KMS refuses the vault's key {self._arn}: {text}")


def _encode_context(context: bytes) -> dict[str, str]:
    """AWS takes texts and shows them in CloudTrail; there are ids in it and no secret."""
    return {"mcpist": base64.b64encode(context).decode()}


def _import_library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise Invalid("keys in AWS KMS need one more package: pip install 'mcpist[aws]'") from None
