"""Long work: whether an answer says that it goes on, where to ask, and how it ended.

Spec: RFC 9110, sections 15.3.3 (202) and 10.2.2 (`Location`); `Operation-Location` and
`Azure-AsyncOperation` as Microsoft's REST API guidelines have them.
"""

from __future__ import annotations

import json
from dataclasses import KW_ONLY, dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from openapi_tools.http_rules import InvalidUrlError, folded, inner_url, members_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import httpx

RUNNING, DONE, FAILED = "running", "done", "failed"
_RUNNING = frozenset(
    {"running", "pending", "queued", "inprogress", "processing", "accepted", "notstarted"}
    | {"started", "waiting", "scheduled", "submitted", "validating", "provisioning", "creating"}
    | {"updating", "deleting", "finalizing", "cancelling", "canceling", "executing", "building"}
)
_FAILED = frozenset(
    {"failed", "failure", "error", "errored", "canceled", "cancelled", "aborted", "timedout"}
    | {"expired", "rejected", "terminated"}
)
_STATES = frozenset({"status", "state", "provisioningstate", "jobstatus", "runtimestatus"})
_INNER = frozenset({"properties", "status", "job", "operation", "task", "data", "metadata"})
_PLACES = frozenset({"statusurl", "statusuri", "statusquerygeturi", "pollingurl"})
_RESULTS = frozenset({"resourcelocation", "resulturl", "resulturi", "resultlocation"})
_MEMBERS = 100
_SHOWN = 600
_ACCEPTED, _CREATED = 202, 201


class Work(NamedTuple):
    """Long work after an answer, asked for at `url`; `outside` says why an address is not asked."""

    state: str = ""
    url: str = ""
    outside: str = ""

    def __bool__(self) -> bool:
        return bool(self.state)


_NONE = Work()


@dataclass(eq=False, slots=True)
class WorkReader:
    """Finds long work in an answer; `work` is false where none begins.

    `ask` returns the tool that asks for an address, which has to be below `server`. If `polled`,
    the request asked for a state; if `loosely`, the answer to a read may be a state, too.
    """

    status: int
    url: httpx.URL
    server: str
    _: KW_ONLY
    ask: Callable[[str], tuple[str, dict[str, Any]] | None]
    polled: bool = False
    loosely: bool = False
    pause: float | None = None
    value: Any = None
    work: Work = _NONE
    asker: tuple[str, dict[str, Any]] | None = None

    def read(self, value: Any, headers: Mapping[str, str]) -> str:
        """Note the work after an answer, and return how to ask for it in one line."""
        self.value = value
        self._find(value, headers)
        if not self.goes_on:
            return ""
        self.asker = self.ask(self.work.url) if self.work.url else None
        return _line_of(self.work, self.asker, self.pause)

    @property
    def goes_on(self) -> bool:
        """Whether the work has not ended."""
        return self.work.state == RUNNING

    @property
    def is_done(self) -> bool:
        """Whether the work has ended well."""
        return self.work.state == DONE

    @property
    def reason(self) -> Any:
        """The part of the answer that says why work failed."""
        value = self.value
        error = value.get("error") if isinstance(value, dict) else None
        return {"error": error} if isinstance(error, dict) else error or value

    def handle(self) -> dict[str, Any]:
        """Return the address of the work, and who asks for it, as plain data."""
        found = {"url": self.work.url, "retry_after": self.pause}
        asker = self.asker and {"tool": self.asker[0], "arguments": self.asker[1]}
        return {name: value for name, value in (*found.items(), ("ask", asker)) if value}

    def _find(self, value: Any, headers: Mapping[str, str]) -> None:
        told = headers.get("operation-location") or headers.get("azure-asyncoperation") or ""
        location, state = headers.get("location", ""), state_of(value)
        found = dict(_texts_of(value))
        goes_on = self.status == _ACCEPTED or state == RUNNING
        if not self.polled:
            place = told or location or next((found[n] for n in _PLACES if n in found), "")
            begins = self.status == _ACCEPTED or (told and state not in (DONE, FAILED))
            begins = begins or (self.status == _CREATED and location and state == RUNNING)
            if begins and place:
                self.work = self._at(RUNNING, place)
            elif self.loosely and state == RUNNING:
                self.work = Work(RUNNING, str(self.url))
        elif goes_on and state not in (DONE, FAILED):
            place = told or (location if self.status == _ACCEPTED else "")
            self.work = self._at(RUNNING, place or str(self.url))
        else:
            place = next((found[name] for name in _RESULTS if name in found), location)
            self.work = self._at(state or DONE, place) if place else Work(state or DONE)

    def _at(self, state: str, place: Any) -> Work:
        try:
            return Work(state, str(inner_url(str(place), self.url, self.server)))
        except InvalidUrlError as error:
            return Work(state, outside=str(error))


def state_of(value: Any) -> str:
    """Return the state that an answer's words tell; empty for none."""
    if not isinstance(value, dict):
        return ""
    if isinstance(value.get("done"), bool):
        return RUNNING if not value["done"] else FAILED if value.get("error") else DONE
    words = [folded(word) for name, word in _texts_of(value) if name in _STATES]
    known = next((word for word in words if word), "")
    return RUNNING if known in _RUNNING else FAILED if known in _FAILED else DONE if known else ""


def _texts_of(value: Any) -> Iterator[tuple[str, str]]:
    """Return the texts that may tell about work, by folded name."""
    found = (pair for pair in members_in(value, _INNER, 1) if isinstance(pair[1], str))
    return islice(found, _MEMBERS)


def _line_of(work: Work, asker: tuple[str, Mapping[str, Any]] | None, after: float | None) -> str:
    pause = f" after {after:g} s" if after else ""
    if asker is not None:
        arguments = json.dumps(asker[1], ensure_ascii=False)
        if arguments.isprintable() and len(arguments) <= _SHOWN:
            return f"The work goes on: ask {asker[0]} with {arguments}{pause}"
    place = work.url.partition("://")[2].partition("/")[2]
    if work.outside:
        return f"The work goes on; its address is not requested: {work.outside}"
    is_shown = place.isprintable() and len(place) <= _SHOWN
    return f"The work goes on: its state is at /{place}{pause}" if is_shown else "The work goes on"
