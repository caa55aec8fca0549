"""Preparation of a deployment whose processes run apart: the keys, tenant and administrator that `mcpist up` makes at
its first start."""

from broker.vault.vault import open_vault
from core.audit.digest_key_check import record_digest_key
from core.config.settings import Settings
from server.bootstrap import FirstAccess, create_first_access
from server.data_folder import get_key_provider_settings
from server.deployment import Deployment
from server.operator_context import open_operator_context_on
from server.role_database import BROKER_ROLE, get_utc_now, open_role_database
from server.vault_keys import load_deployment_guard, open_key_provider


async def prepare_deployment(settings: Settings, deployment: Deployment) -> FirstAccess:
    """Make the vault's key, the peppers, the deployment's id, the first tenant and its administrator; what is there
    stays. The schema has to be up to date.

    Raises:
        core.errors.Invalid: a key is missing, wrong or readable by others; the text names it.
        core.errors.Unavailable: the database or a key service is away.
    """
    async with (
        open_role_database(deployment, BROKER_ROLE, max_connections=1) as broker,
        open_key_provider(deployment, get_key_provider_settings(settings)) as keys,
    ):
        guard = await load_deployment_guard(deployment, broker)
        await open_vault(broker, keys, clock=get_utc_now, guard=guard)
        await record_digest_key(broker, deployment.digest_key)
    async with open_operator_context_on(deployment) as context:
        return await create_first_access(context, settings.public_url)
