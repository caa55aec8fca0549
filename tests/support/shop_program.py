"""`mcpist` with one module more, the shop of :mod:`tests.support.toy_vendor`: ``python -m tests.support.shop_program``.

The variable SHOP_URL says where its vendor is; where SWEEP_EVERY is set, accounts are looked through for due ones every
so many seconds.
"""

import os
from functools import partial
from unittest import mock

from broker.refresh.service import run_refresher
from broker.refresh.sweeper import SWEEP_INTERVAL
from gateway.catalogue import Catalogue, build, installed
from gateway.cli import main
from tests.support.toy_vendor import shop_module

if __name__ == "__main__":

    def catalogue() -> Catalogue:
        return build([*installed().modules, shop_module(os.environ["SHOP_URL"])])

    with (
        mock.patch("gateway.single.split.installed", catalogue),
        mock.patch("gateway.single.product.installed", catalogue),
        mock.patch("gateway.single.operator.installed", catalogue),
        mock.patch(
            "gateway.single.vendor_oauth.run_refresher",
            partial(run_refresher, every=float(os.environ.get("SWEEP_EVERY", SWEEP_INTERVAL))),
        ),
    ):
        main()
