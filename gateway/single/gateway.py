"""One gateway with all its parts, built from settings and a deployment; started and stopped in order."""

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Coroutine
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from broker.direct import DirectBroker
from broker.identity.api_tokens import ApiTokens
from broker.identity.pepper import load_or_create
from core.audit.writer import AuditWriter
from core.db import Database
from core.generations import Generations
from core.limits import AttemptLimits, CallerLimits
from core.settings import Settings
from gateway.app import App
from gateway.auth.authenticator import Authenticator
from gateway.auth.refusals import Refusals
from gateway.catalogue import Catalogue
from gateway.deployment import Deployment
from gateway.mcp.endpoint import McpEndpoint
from gateway.mcp.settings import McpSettings
from gateway.meta_tools.handlers import MetaTools
from gateway.sieve.sieve import Sieve
from gateway.tool_runner import ToolRunner
