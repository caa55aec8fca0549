"""`mcpist` with one module more, the shop of :mod:`tests.support.toy_vendor`: ``python -m tests.support.shop_program``.

The variable SHOP_URL says where its vendor is.
"""

import os
from unittest import mock

from gateway.catalogue import Catalogue, build, installed
from gateway.cli import main
from tests.support.toy_vendor import shop_module

if __name__ == "__main__":

    def catalogue() -> Catalogue:
        return build([*installed().modules, shop_module(os.environ["SHOP_URL"])])

    with (
        mock.patch("gateway.single.split.installed", catalogue),
        mock.patch("gateway.single.product.installed", catalogue),
    ):
        main()
