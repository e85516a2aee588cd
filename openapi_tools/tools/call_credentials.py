"""The credentials of a call: those of its context over the session's, and what a request needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openapi_tools.auth.authorization_server import Channel
from openapi_tools.auth.schemes import TokenContext
from openapi_tools.common.options import context_value, replace_context_values
from openapi_tools.result import context_for, user_of

if TYPE_CHECKING:
    from openapi_tools.auth import CallCredentials
    from openapi_tools.tools.call import Call
    from openapi_tools.tools.endpoint import Endpoint
    from openapi_tools.transport import Attempts


async def apply_user_credentials(call: Call) -> None:
    """Set the user of a call, and put the context's credentials over those of the session."""
    if callable(source := context_value(call.context, "credentials")):
        call.context = replace_context_values(
            call.context, credentials=await context_for(source, call.tool)
        )
    call.user = user_of(call.context)
    call.user_credentials = call.user_credentials.with_overlay(
        context_value(call.context, "credentials"), call.redactor, call.user
    )


async def resolve_credentials(
    call: Call,
    endpoint: Endpoint,
    attempts: Attempts,
    *,
    stale: CallCredentials | None = None,
) -> CallCredentials:
    """Return the credentials that the operation needs, which may be tokens to fetch.

    Args:
        call: The call.
        endpoint: The endpoint, which stores them if all calls with the session's credentials need
            the same.
        attempts: The attempts, whose connections and deadline token requests use.
        stale: The credentials that were refused with 401.
    """
    session = endpoint.session

    def learn(*secrets: str) -> None:
        session.redactor.learn(*secrets, temporary=True)
        call.redactor.learn(*secrets)  # the session forgets old ones

    def open_channel() -> Channel:
        return Channel.for_call(attempts.transport, endpoint.policy, learn)

    context = TokenContext(open_channel, call.redactor)
    credentials = await call.user_credentials.resolve(
        endpoint.operation, endpoint.policy, context, stale
    )
    if not credentials.renewable and call.user_credentials is endpoint.credentials:
        endpoint.shared_credentials = credentials
    return credentials
