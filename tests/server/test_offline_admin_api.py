"""The admin API of a command in its own process knows each route of the broker's sections."""

from broker.api import app as identity
from broker.api import deployment_section, routers
from core.api.app import API_PREFIX
from server.offline_admin_api import _select_broker_section


def test_each_route_of_the_broker_is_sent_to_its_section() -> None:
    sections = {"connect": routers.ROUTERS, "deployment": deployment_section.ROUTERS, "identity": identity.ROUTERS}
    for name, found in sections.items():
        paths = {route.path.removeprefix(API_PREFIX) for router in found for route in router.routes}  # type: ignore[attr-defined]
        assert len(paths) > 2
        assert {path: _select_broker_section(path) for path in paths} == dict.fromkeys(paths, name)
