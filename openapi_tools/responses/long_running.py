"""Long-running operations: whether a response starts one, its status URL, and how it ended.

Spec: RFC 9110, sections 15.3.3 (202) and 10.2.2 (`Location`); `Operation-Location` and
`Azure-AsyncOperation` as Microsoft's REST API guidelines have them.
"""

from __future__ import annotations

import json
import re
from dataclasses import KW_ONLY, dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from openapi_tools.common.http_rules import WEB_URL
from openapi_tools.common.page_names import find_properties
from openapi_tools.common.visible_text import fold_name
from openapi_tools.transport.urls import InvalidUrlError, resolve_api_url

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import httpx

RUNNING, DONE, FAILED = "running", "done", "failed"
# States of Azure, Google Cloud, AWS, Kubernetes, OpenAI and Pulp, folded to letters.
_RUNNING_STATES = frozenset(
    {"running", "pending", "queued", "inprogress", "processing", "accepted", "notstarted"}
    | {"started", "waiting", "scheduled", "submitted", "validating", "provisioning", "creating"}
    | {"updating", "deleting", "finalizing", "cancelling", "canceling", "executing", "building"}
)
_FAILED_STATES = frozenset(
    {"failed", "failure", "error", "errored", "canceled", "cancelled", "aborted", "timedout"}
    | {"expired", "rejected", "terminated"}
)
_STATES = frozenset({"status", "state", "provisioningstate", "jobstatus", "runtimestatus"})
_INNER = frozenset({"properties", "status", "job", "operation", "task", "data", "metadata"})
# Names of a property that holds the address of a task, or an object with it.
_OF_TASK = re.compile(
    "(?:async)?(?:task|job|operation|status|state|poll(?:ing)?|monitor|progress)"
    "(?:querygeturi|(?:self)?(?:url|uri|href|link|location)?)"
)
# Names of the address of anything.
_OF_ANY = frozenset(
    {"href", "link", "location", "pulphref", "self", "selfhref", "selflink", "selfurl"}
    | {"uri", "url"}
)
_AROUND = frozenset({"attributes", "data", "links", "metadata", "properties", "self"})
# What an object says that is nothing but a task's.
_BESIDE = frozenset(
    {"accepted", "created", "createdat", "description", "detail", "id", "jobid", "kind", "message"}
    | {"msg", "ok", "operationid", "requestid", "success", "taskid", "type", "uuid"}
)
_TASK_PATH = re.compile(
    r"/(?:tasks?|jobs?|operations?|status(?:es)?|queue|runs?|executions?|progress)(?:[/?#]|\Z)",
    re.IGNORECASE,
)
_LONGEST_ADDRESS = 2048
_LINKS = 20
_RESULTS = frozenset({"resourcelocation", "resulturl", "resulturi", "resultlocation"})
_MOST_PROPERTIES = 100
_SHOWN = 600
_CREATED, _ACCEPTED = 201, 202


class LongRunningOperation(NamedTuple):
    """A long-running operation.

    Attributes:
        state: What the API says of it, such as `running`.
        url: The URL of its status; empty if none is known.
        refusal: Why that URL is not requested.
        result_url: The URL of its result, if the response that began it named both.
    """

    state: str = ""
    url: str = ""
    refusal: str = ""
    result_url: str = ""

    def __bool__(self) -> bool:
        return bool(self.state)


_NONE = LongRunningOperation()


@dataclass(eq=False, slots=True)
class LongRunningReader:
    """Finds a long-running operation in a response; `long_operation` is false if none begins.

    `find_tool` returns the tool that requests an address, which has to be below `server`. If
    `polled`, the request asked for a state; if `accepts_states`, a response to a read may be a
    state, too.
    """

    status: int
    url: httpx.URL
    server: str
    _: KW_ONLY
    find_tool: Callable[[str], tuple[str, dict[str, Any]] | None]
    polled: bool = False
    accepts_states: bool = False
    pause: float | None = None
    value: Any = None
    long_operation: LongRunningOperation = _NONE
    status_tool: tuple[str, dict[str, Any]] | None = None

    def read(self, value: Any, headers: Mapping[str, str]) -> str:
        """Note the operation that a response starts; return in one line how to get its status."""
        self.value = value
        self._detect_operation(value, headers)
        if not self.goes_on:
            return ""
        self.status_tool = (
            self.find_tool(self.long_operation.url) if self.long_operation.url else None
        )
        return _describe_operation(self.long_operation, self.status_tool, self.pause)

    @property
    def goes_on(self) -> bool:
        """Whether the operation is still running."""
        return self.long_operation.state == RUNNING

    @property
    def is_done(self) -> bool:
        """Whether the operation succeeded."""
        return self.long_operation.state == DONE

    @property
    def reason(self) -> Any:
        """The part of the response that says why the operation failed."""
        value = self.value
        error = value.get("error") if isinstance(value, dict) else None
        return {"error": error} if isinstance(error, dict) else error or value

    def handle(self) -> dict[str, Any]:
        """Return the status URL, and the tool that requests it, as plain data."""
        facts = {"url": self.long_operation.url, "retry_after": self.pause}
        asker = self.status_tool and {"tool": self.status_tool[0], "arguments": self.status_tool[1]}
        return {name: value for name, value in (*facts.items(), ("ask", asker)) if value}

    def _detect_operation(self, value: Any, headers: Mapping[str, str]) -> None:
        operation_url = (
            headers.get("operation-location") or headers.get("azure-asyncoperation") or ""
        )
        location, state = headers.get("location", ""), state_of(value)
        strings = dict(_iter_strings(value))
        goes_on = self.status == _ACCEPTED or state == RUNNING
        if not self.polled:
            # RFC 9110, section 15.3.3 (202). In Azure's REST guidelines `Operation-Location`
            # and `Azure-AsyncOperation` take precedence over `Location`.
            begins = self.status == _ACCEPTED or (operation_url and state not in (DONE, FAILED))
            begins = begins or (self.status == _CREATED and location and state == RUNNING)
            if begins and (operation_url or location):
                self.long_operation = self._resolve_location(RUNNING, operation_url or location)
                if operation_url and location:
                    result_url = self._resolve_location(DONE, location).url
                    self.long_operation = self.long_operation._replace(result_url=result_url)
            elif addresses := self._find_addresses(value, state):
                self.long_operation = self._choose_address(addresses)
            elif self.accepts_states and state == RUNNING:
                self.long_operation = LongRunningOperation(RUNNING, str(self.url))
        elif goes_on and state not in (DONE, FAILED):
            address = operation_url or (location if self.status == _ACCEPTED else "")
            self.long_operation = self._resolve_location(RUNNING, address or str(self.url))
        else:
            address = next((strings[name] for name in _RESULTS if name in strings), location)
            self.long_operation = (
                self._resolve_location(state or DONE, address)
                if address
                else LongRunningOperation(state or DONE)
            )

    def _find_addresses(self, value: Any, state: str) -> list[str]:
        # After a 202 any address will do. Every resource may have an address, so in a 200 it is a
        # task's if it is named so in an object that says nothing else, or if the state says that
        # it is running.
        if isinstance(value, str):
            return [value] if self.status == _ACCEPTED and _is_address(value) else []
        addresses = list(islice(_addresses_in(value), _LINKS)) if isinstance(value, dict) else []
        of_task = [address for is_own, address in addresses if is_own]
        of_anything = [address for is_own, address in addresses if not is_own]
        if self.status == _ACCEPTED:
            return of_task + of_anything
        if not addresses or self.accepts_states or state in (DONE, FAILED):
            return []
        if self.status == _CREATED:
            return of_task if state == RUNNING else []
        if state != RUNNING:
            of_anything = list(filter(_TASK_PATH.search, of_anything))
        return of_task + of_anything if state == RUNNING or all(map(_is_of_task, value)) else []

    def _choose_address(self, addresses: list[str]) -> LongRunningOperation:
        # An address that a tool can request is of more use to a model than one it cannot.
        works = [self._resolve_location(RUNNING, address) for address in dict.fromkeys(addresses)]
        inside = [work for work in works if work.url]
        return next((work for work in inside if self.find_tool(work.url)), (inside or works)[0])

    def _resolve_location(self, state: str, place: Any) -> LongRunningOperation:
        try:
            return LongRunningOperation(
                state, str(resolve_api_url(str(place), self.url, self.server))
            )
        except InvalidUrlError as error:
            return LongRunningOperation(state, refusal=str(error))


def state_of(value: Any) -> str:
    """Return the state that a response names; empty for none."""
    if not isinstance(value, dict):
        return ""
    # Google's `Operation` (AIP-151): `done`, and then either `error` or `response`.
    if isinstance(value.get("done"), bool):
        if not value["done"]:
            return RUNNING
        return FAILED if value.get("error") else DONE
    states = (fold_name(text) for name, text in _iter_strings(value) if name in _STATES)
    state = next(filter(None, states), "")
    if state in _RUNNING_STATES:
        return RUNNING
    if state in _FAILED_STATES:
        return FAILED
    return DONE if state else ""


def _iter_strings(value: Any) -> Iterator[tuple[str, str]]:
    strings = (pair for pair in find_properties(value, _INNER, 1) if isinstance(pair[1], str))
    return islice(strings, _MOST_PROPERTIES)


def _addresses_in(
    value: Mapping[str, Any], *, is_own: bool = False, depth: int = 2
) -> Iterator[tuple[bool, str]]:
    for key, item in islice(value.items(), _MOST_PROPERTIES):
        name = fold_name(key)
        of_task = _OF_TASK.fullmatch(name) is not None
        if isinstance(item, str) and (of_task or name in _OF_ANY) and _is_address(item):
            yield is_own or of_task, item
        elif isinstance(item, dict) and depth and (of_task or name in _AROUND):
            yield from _addresses_in(item, is_own=is_own or of_task, depth=depth - 1)
        elif isinstance(item, list) and name == "links":
            for link in filter(_is_link, item[:_LINKS]):
                yield _OF_TASK.fullmatch(fold_name(link["rel"])) is not None, link["href"]


def _is_address(text: str) -> bool:
    is_word = text.isprintable() and " " not in text and len(text) <= _LONGEST_ADDRESS
    return is_word and (text.startswith(("/", "./", "../")) or WEB_URL.match(text) is not None)


def _is_link(link: Any) -> bool:
    if not isinstance(link, dict) or not all(isinstance(link.get(n), str) for n in ("rel", "href")):
        return False
    rel = fold_name(link["rel"])
    return (rel == "self" or _OF_TASK.fullmatch(rel) is not None) and _is_address(link["href"])


def _is_of_task(key: str) -> bool:
    name = fold_name(key)
    return name in _OF_ANY | _AROUND | _BESIDE or _OF_TASK.fullmatch(name) is not None


def _describe_operation(
    operation: LongRunningOperation,
    asker: tuple[str, Mapping[str, Any]] | None,
    after: float | None,
) -> str:
    pause = f" after {after:g} s" if after else ""
    if asker is not None:
        arguments = json.dumps(asker[1], ensure_ascii=False)
        if arguments.isprintable() and len(arguments) <= _SHOWN:
            return f"The operation is still running: call {asker[0]} with {arguments}{pause}"
    place = operation.url.partition("://")[2].partition("/")[2]
    if operation.refusal:
        return (
            f"The operation is still running; its status URL is not requested: {operation.refusal}"
        )
    is_shown = place.isprintable() and len(place) <= _SHOWN
    return (
        f"The operation is still running; its status is at /{place}{pause}"
        if is_shown
        else "The operation is still running"
    )
