"""The petstore's tools for the contracts of Amplifier, loaded and generated."""

from contextlib import contextmanager
from pathlib import Path

from packages import import_package

from openapi_tools import Settings, load_tools
from openapi_tools.contracts import amplifier

ROOT = Path(__file__).parents[1]
SPEC = ROOT / "specs" / "petstore.yaml"
GENERATED = ROOT / "generated" / "petstore"
KINDS = ("loaded", "generated")
NAMES = [
    *("update_pet", "add_pet", "find_pets_by_status", "find_pets_by_tags", "get_pet_by_id"),
    *("update_pet_with_form", "delete_pet", "upload_file", "get_inventory", "place_order"),
    *("get_order_by_id", "delete_order", "create_user", "create_users_with_list_input"),
    *("login_user", "logout_user", "get_user_by_name", "update_user", "delete_user"),
]


@contextmanager
def petstore(kind, url):
    """Give the petstore's tools of a kind."""
    if kind == "loaded":
        yield load_tools(SPEC, settings=Settings(base_url=url, anonymous=True, show_changes=False))
    else:
        with import_package(GENERATED, "petstore_tools") as package:
            yield package.load(base_url=url, anonymous=True, show_changes=False)


@contextmanager
def module(kind):
    """Give the `mount` of the module that offers the petstore's tools."""
    if kind == "generated":
        with import_package(GENERATED, "petstore_tools") as package:
            yield package.mount
        return

    async def mount(coordinator, config=None):
        return await amplifier.mount(coordinator, {"spec": str(SPEC), **(config or {})})

    yield mount
