"""`mcpist` with one module more, the shop of :mod:`tests.support.toy_vendor`: ``python -m tests.support.shop_program``.

The variable SHOP_URL says where its vendor is; where SWEEP_EVERY is set, accounts are looked through for due ones every
so many seconds, and where FIGURES_EVERY is, the deployment's figures are read as often.
"""

import os
from functools import partial
from unittest import mock

from broker.refresh.scheduler import SWEEP_INTERVAL, run_refresher
from cli import main
from core.module_manifest import ModuleManifest
from gateway.catalogue import Catalogue, build_catalogue, load_installed_modules
from gateway.module_manifests import build_module_manifests
from server.deployment_figures import INTERVAL_SECONDS
from tests.support.toy_vendor import shop_module

if __name__ == "__main__":

    def catalogue() -> Catalogue:
        return build_catalogue([*load_installed_modules().modules, shop_module(os.environ["SHOP_URL"])])

    def manifests() -> tuple[ModuleManifest, ...]:
        return build_module_manifests(catalogue())

    with (
        mock.patch("server.standalone.load_installed_manifests", manifests),
        mock.patch("server.serving.load_installed_modules", catalogue),
        mock.patch("server.operator_context.load_installed_modules", catalogue),
        mock.patch(
            "server.wiring.oauth_client.run_refresher",
            partial(run_refresher, every=float(os.environ.get("SWEEP_EVERY", SWEEP_INTERVAL))),
        ),
        mock.patch(
            "server.deployment_figures.INTERVAL_SECONDS", float(os.environ.get("FIGURES_EVERY", INTERVAL_SECONDS))
        ),
        mock.patch("server.backup_age.INTERVAL_SECONDS", float(os.environ.get("FIGURES_EVERY", INTERVAL_SECONDS))),
    ):
        main()
