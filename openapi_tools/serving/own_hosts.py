"""The host names by which clients reach a server; a page of another site names another host."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openapi_tools.errors import SettingsError, require_extra

if TYPE_CHECKING:
    from openapi_tools.serving.serving_tables import ServeTable

with require_extra("mcp"):
    from mcp.server.transport_security import TransportSecuritySettings

    from openapi_tools.http_server import LOOPBACK, normalize_host

_ANY = ("0.0.0.0", "::")  # noqa: S104 -- compared, not bound to


def server_hosts(serve: ServeTable) -> tuple[list[str], list[str]]:
    """Return the hosts of a server: those of its address, and `allow_hosts`.

    Raises:
        SettingsError: One of them is not a host.
    """
    address = serve.host.strip("[]").partition("%")[0]
    main_host = _normalize_host(f"[{address}]" if ":" in address else address, "host")
    # Whoever listens on all interfaces is reached by loopback, too.
    is_local = main_host in LOOPBACK or address in _ANY
    allowed = [_normalize_host(name, "allow_hosts") for name in serve.allow_hosts]
    return [*dict.fromkeys((main_host, *(LOOPBACK if is_local else ())))], allowed


def _normalize_host(host: str, key: str) -> str:
    try:
        return normalize_host(host)
    except SettingsError as error:
        raise SettingsError(f"serve.{key}: {error.reason}") from None


def mcp_security(serve: ServeTable, port: int) -> TransportSecuritySettings:
    """Return the origins of pages that may use MCP, and the hosts, which were checked before."""
    hosts, allowed_hosts = server_hosts(serve)
    allowed = [host for name in allowed_hosts for host in (name, f"{name}:*")]
    origins = [*allowed, *(f"{name}:{port}" for name in hosts)]
    return TransportSecuritySettings(
        allowed_hosts=[*allowed, *(host for name in hosts for host in (name, f"{name}:*"))],
        allowed_origins=[f"{scheme}://{host}" for scheme in ("http", "https") for host in origins],
    )
