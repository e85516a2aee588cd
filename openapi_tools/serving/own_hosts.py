"""The hosts by which clients reach a server; pages of others cannot, as they name another one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openapi_tools.errors import SettingsError, requiring

if TYPE_CHECKING:
    from openapi_tools.serving.serving_tables import ServeTable

with requiring("mcp"):
    from mcp.server.transport_security import TransportSecuritySettings

    from openapi_tools.http_server import LOOPBACK, normalized_host

_ANY = ("0.0.0.0", "::")  # noqa: S104 -- told apart, not bound to


def own_hosts(serve: ServeTable) -> tuple[list[str], list[str]]:
    """Return the hosts by which a server is reached: those of its address, and `allow_hosts`.

    Raises:
        SettingsError: One of them is not a host.
    """
    address = serve.host.strip("[]").partition("%")[0]
    own = _normalized(f"[{address}]" if ":" in address else address, "host")
    is_local = own in LOOPBACK or address in _ANY
    others = [_normalized(name, "allow_hosts") for name in serve.allow_hosts]
    return [*dict.fromkeys((own, *(LOOPBACK if is_local else ())))], others


def _normalized(host: str, key: str) -> str:
    try:
        return normalized_host(host)
    except SettingsError as error:
        raise SettingsError(f"serve.{key}: {error.reason}") from None


def mcp_security(serve: ServeTable, port: int) -> TransportSecuritySettings:
    """Return the origins of pages that may use MCP; and `own_hosts`, which were checked before."""
    own, others = own_hosts(serve)
    allowed = [host for name in others for host in (name, f"{name}:*")]
    origins = [*allowed, *(f"{name}:{port}" for name in own)]
    return TransportSecuritySettings(
        allowed_hosts=[*allowed, *(host for name in own for host in (name, f"{name}:*"))],
        allowed_origins=[f"{scheme}://{host}" for scheme in ("http", "https") for host in origins],
    )
