"""The settings for the tools of one document."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path  # noqa: TC003 -- pydantic reads the annotations
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    BinaryIO,
    ClassVar,
    Literal,
    Protocol,
    TypedDict,
    runtime_checkable,
)

from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator

from openapi_tools.errors import SettingsError
from openapi_tools.http_rules import WEB, is_media_type, is_wildcard
from openapi_tools.options import LEAST_BUDGET, DefaultSettings, close_names

if TYPE_CHECKING:
    from openapi_tools.shared_state import SharedState

_USER = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^/?#]*@")
_HOST = re.compile(r"[^\s:/?#@]+(:[0-9]+)?(/[^\s@]*)?")
_SHOWN = 60
_FIELD_NAME = r"^[A-Za-z0-9!#$%&'*+.^_`|~-]+$"
_TAKEN = frozenset(
    {"authorization", "connection", "content-length", "content-type", "cookie", "host"}
)
_ORIGIN = re.compile(r"https?://[^\s/?#@]+/?", re.IGNORECASE)
_APPROVED = re.compile(r"writes|destructive|all|x-.+")


@runtime_checkable
class FileStore(Protocol):
    """Keeps files that do not pass the model, by handle; `FolderStore` is one.

    Methods are called in threads, several at once.
    """

    def put(self, content: BinaryIO, *, filename: str = "", media_type: str = "") -> str:
        """Keep a copy of a file and return its handle.

        A handle is at most 200 letters, digits, `.`, `_` and `-`, and cannot be guessed. The file
        name may be empty, and is a server's.

        Raises:
            OSError: It cannot be kept.
        """
        ...

    def open(self, handle: str) -> BinaryIO:
        """Return a kept file, seekable, open for reading.

        Raises:
            OSError: The file does not exist.
        """
        ...


_Path = str | os.PathLike[str] | None
_Function = Callable[..., Any]


SettingsMembers = TypedDict(  # noqa: UP013 -- a class has a line for each member
    "SettingsMembers",
    {
        "base_url": str | None, "server_variables": Mapping[str, str], "timeout": float,
        "wait": float, "concurrency": int, "max_response_bytes": int, "max_file_bytes": int,
        "max_output_chars": int, "max_items": int, "drop": Sequence[str], "nulls": bool,
        "max_input_chars": int, "max_base64_bytes": int, "download_dir": _Path,
        "files": FileStore | None, "check_answers": bool,
        "file_roots": Sequence[str | os.PathLike[str]], "prefix": str, "short_names": bool,
        "body": Literal["flat", "nested"],
        "media_types": Sequence[str] | Mapping[str, str | Sequence[str]], "description_chars": int,
        "describe": Sequence[Literal["returns", "errors"]],
        "definitions": Literal["full", "short", "tight"], "definition_bytes": int,
        "max_document_bytes": int, "ref_root": _Path, "ref_urls": Sequence[str],
        "allow_private": bool | None, "trust_env": bool, "ca_file": _Path,
        "credential_origins": Sequence[str] | None, "anonymous": bool, "retries": int,
        "idempotency_header": str | None, "approve": _Function | None,
        "approve_for": str | _Function, "show_changes": bool, "dry_run": bool,
        "trace_context": bool, "cache": bool,
        "stale": bool, "synonyms": Mapping[str, str | Sequence[str]], "embed": _Function | None,
        "transport": Literal["auto", "httpx", "fast"], "state": "SharedState | None",
        "rate": float | None, "user_concurrency": int | None, "user_rate": float | None,
        "http_cache": bool,
    },
    total=False,
)  # fmt: skip
"""The members of `Settings` as keyword arguments of `load_tools`, for type checkers."""


class Settings(BaseModel):
    """How a document is read and how its tools call the API; docs/python.md says more of each.

    Attributes:
        base_url: Replaces every server of the document, path included: `"http://localhost:8000/v1"`.
        server_variables: Values for the placeholders of the document's server URLs, by name.
        timeout: Seconds for a whole call, waiting for a turn included; as much for the document.
        wait: Seconds to wait for the end of work that an answer only accepts (202).
        concurrency: Calls of one toolset at once; more wait for their turn.
        max_response_bytes: An answer larger than this, decoded, is an error.
        max_file_bytes: The same for a binary answer, where files are kept.
        max_output_chars: An output longer than this, as text, is cut and says so.
        max_items: Items of each list in an answer that are shown; 0 for all.
        drop: Name patterns of members that are left out of answers: `("*_url", "node_id")`.
        nulls: Show members of answers whose value is null.
        max_input_chars: Tool input longer than this, as JSON, is refused.
        max_base64_bytes: A larger binary answer is its media type and size, images excepted.
        download_dir: Folder where binary answers are written; file arguments take its handles.
        files: A `FileStore` in place of that folder.
        check_answers: List in `result.metadata["answer_problems"]` what does not fit the document.
        file_roots: Folders from which file arguments may name a `path`; none by default.
        prefix: Put before every tool name, for instance `"github_"`.
        short_names: Name tools by their functions where operation ids are FastAPI's.
        body: `"flat"` offers members of a plain object body as arguments, `"nested"` one `body`.
        media_types: Request media types in order of preference; or a dict by the names of tools,
            whose types are sent in any case: `{"image_create": "application/x-tar"}`.
        description_chars: Longest description of a tool or an argument.
        describe: `"returns"`, what comes back, and `"errors"`, when a call fails.
        definitions: How many words `toolset.definitions` and coordinators show a model: `"full"`,
            `"short"` or `"tight"`. Calls are checked against the full schema.
        definition_bytes: Largest definition of a tool, as JSON; 0 sets no limit.
        max_document_bytes: A larger document is refused.
        ref_root: Folder inside which `$ref` may read files; the document's own by default.
        ref_urls: URL prefixes that `$ref` may fetch from; none by default.
        allow_private: Whether calls may reach loopback, private and link-local addresses. By
            default they may, unless the document came from a public one.
        trust_env: Take proxies and certificate authorities from the environment.
        ca_file: PEM file with certificate authorities to trust besides the usual ones.
        credential_origins: Where credentials may go, for instance `"https://api.example.com"`; by
            default to the origin of `base_url`, else of the document's own first server. An empty
            list sends them nowhere.
        anonymous: Call operations without the credentials that they require and that are missing.
        retries: How often an idempotent call is tried again.
        idempotency_header: The header in which the API takes a key for POST and PATCH.
        approve: Asked with a `Preview` before the calls that `approve_for` names; may be async.
        approve_for: `"writes"`, `"destructive"`, `"all"`, the name of an extension that is true
            in the operation (`"x-needs-approval"`), or a test of the tool.
        show_changes: Read the present state before a person approves a write.
        dry_run: Send nothing; the output is what would have been sent, without secrets.
        trace_context: Send the W3C trace context along, to where credentials go.
        cache: Keep what a load has found, so that the next one need not parse the document.
        stale: Take the copy in the cache where a document's server cannot be reached.
        synonyms: Words for the search over tools: `{"repo": ["repository"]}`.
        embed: Makes vectors for that search, in its thread: from a list of texts, one for each.
        transport: What reads answers without a client of yours: `"httpx"`, `"fast"` or `"auto"`.
        state: A `SharedState`: tokens, limits and cached answers of several processes.
        rate: Requests in a second to one API; more wait for their turn.
        user_concurrency: As `concurrency`, for each `Context.user`.
        user_rate: As `rate`, for each `Context.user`.
        http_cache: Keep answers of GET as HTTP allows (RFC 9111; the extra `http-cache`).

    Raises:
        SettingsError: An unknown name or a wrong value; one line for each.
    """

    SHAPING: ClassVar[frozenset[str]] = frozenset(
        {"prefix", "short_names", "body", "media_types", "description_chars", "describe"}
    )
    """The settings that decide what a tool looks like; a generated package has them built in."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    base_url: str | None = DefaultSettings.base_url
    server_variables: dict[str, str] = Field(default_factory=dict)
    timeout: float = Field(default=DefaultSettings.timeout, gt=0)
    wait: float = Field(default=DefaultSettings.wait, ge=0, allow_inf_nan=False)
    concurrency: int = Field(default=DefaultSettings.concurrency, ge=1)
    max_response_bytes: int = Field(default=DefaultSettings.max_response_bytes, ge=1)
    max_file_bytes: int = Field(default=DefaultSettings.max_file_bytes, ge=1)
    max_output_chars: int = Field(default=DefaultSettings.max_output_chars, ge=100)
    max_items: int = Field(default=DefaultSettings.max_items, ge=0)
    drop: tuple[Annotated[str, Field(min_length=1)], ...] = DefaultSettings.drop
    nulls: bool = DefaultSettings.nulls
    max_input_chars: int = Field(default=DefaultSettings.max_input_chars, ge=1)
    max_base64_bytes: int = Field(default=DefaultSettings.max_base64_bytes, ge=0)
    download_dir: Path | None = DefaultSettings.download_dir
    files: Any = DefaultSettings.files  # a FileStore
    check_answers: bool = DefaultSettings.check_answers
    file_roots: tuple[Path, ...] = DefaultSettings.file_roots
    prefix: str = Field(
        default=DefaultSettings.prefix, pattern=r"^([A-Za-z_][A-Za-z0-9_-]{0,39})?$"
    )
    short_names: bool = DefaultSettings.short_names
    body: Literal["flat", "nested"] = DefaultSettings.body
    media_types: tuple[str, ...] | dict[str, tuple[str, ...]] = DefaultSettings.media_types
    description_chars: int = Field(default=DefaultSettings.description_chars, ge=16)
    describe: tuple[Literal["returns", "errors"], ...] = DefaultSettings.describe
    definitions: Literal["full", "short", "tight"] = DefaultSettings.definitions
    definition_bytes: int = DefaultSettings.definition_bytes
    max_document_bytes: int = Field(default=DefaultSettings.max_document_bytes, ge=1)
    ref_root: Path | None = DefaultSettings.ref_root
    ref_urls: tuple[str, ...] = DefaultSettings.ref_urls
    allow_private: bool | None = DefaultSettings.allow_private
    trust_env: bool = DefaultSettings.trust_env
    ca_file: Path | None = DefaultSettings.ca_file
    credential_origins: tuple[str, ...] | None = DefaultSettings.credential_origins
    anonymous: bool = DefaultSettings.anonymous
    retries: int = Field(default=DefaultSettings.retries, ge=0, le=10)
    idempotency_header: str | None = Field(
        default=DefaultSettings.idempotency_header, pattern=_FIELD_NAME
    )
    approve: Callable[..., Any] | None = DefaultSettings.approve
    approve_for: str | Callable[..., Any] = DefaultSettings.approve_for
    show_changes: bool = DefaultSettings.show_changes
    dry_run: bool = DefaultSettings.dry_run
    trace_context: bool = DefaultSettings.trace_context
    cache: bool = DefaultSettings.cache
    stale: bool = DefaultSettings.stale
    synonyms: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    embed: Callable[..., Any] | None = DefaultSettings.embed
    transport: Literal["auto", "httpx", "fast"] = DefaultSettings.transport
    state: Any = DefaultSettings.state  # a SharedState
    rate: float | None = Field(default=DefaultSettings.rate, gt=0, allow_inf_nan=False)
    user_concurrency: int | None = Field(default=DefaultSettings.user_concurrency, ge=1)
    user_rate: float | None = Field(default=DefaultSettings.user_rate, gt=0, allow_inf_nan=False)
    http_cache: bool = DefaultSettings.http_cache

    if not TYPE_CHECKING:  # the signature stays the one made of the members

        def __init__(self, **members: Any) -> None:
            try:
                super().__init__(**members)
            except ValidationError as error:
                reason = "\n".join(map(_line, error.errors()))
            else:
                return
            members = {}  # what a traceback of this frame would show: an address with a password
            raise SettingsError(reason) from None

    @field_validator("base_url")
    @classmethod
    def _check_base_url(cls, url: str | None) -> str | None:
        """Refuse an address that no request can go to, while the mistake is easy to see."""
        if url is None:
            return url
        if _USER.match(url):
            reason = "an address holds no user or password; give credentials instead"
            raise ValueError(f"{reason} (what stands before the @ is not shown here).")
        if WEB.match(url):
            return url
        shown = "" if "@" in url else f" {url[:_SHOWN]!r}"  # what stands before an @ may be secret
        meant = f"; did you mean 'http://{url[:_SHOWN]}'?" if _HOST.fullmatch(url) else "."
        raise ValueError(f"the address{shown} begins with neither http:// nor https://{meant}")

    @field_validator("media_types", "credential_origins", "drop", mode="before")
    @classmethod
    def _take_one_text(cls, given: Any) -> Any:
        return (given,) if isinstance(given, str) else given

    @field_validator("media_types", "synonyms", mode="before")
    @classmethod
    def _take_one_value(cls, given: Any) -> Any:
        one = isinstance(given, dict)
        return {n: (k,) if isinstance(k, str) else k for n, k in given.items()} if one else given

    @field_validator("media_types")
    @classmethod
    def _check_media_types(
        cls, kinds: tuple[str, ...] | dict[str, tuple[str, ...]]
    ) -> tuple[str, ...] | dict[str, tuple[str, ...]]:
        """Refuse media types in which no body can be sent."""
        for name, listed in kinds.items() if isinstance(kinds, dict) else ():
            wrong = [kind for kind in listed if not is_media_type(kind) or is_wildcard(kind)]
            if wrong or not listed:
                shown = f"{wrong[0]!r:.{_SHOWN}}" if wrong else "none"
                raise ValueError(f"{name!r:.{_SHOWN}} needs a media type, not {shown}.")
        return kinds

    @field_validator("embed")
    @classmethod
    def _check_embed(cls, embed: Callable[..., Any] | None) -> Callable[..., Any] | None:
        if inspect.iscoroutinefunction(embed):
            raise ValueError("give a function that is not async; searches run in a thread.")
        return embed

    @field_validator("credential_origins")
    @classmethod
    def _check_origins(cls, origins: tuple[str, ...] | None) -> tuple[str, ...] | None:
        """Refuse other values than origins: a path would promise a narrower place."""
        if origins is None:
            return None
        for origin in origins:
            if not _ORIGIN.fullmatch(origin):
                shown = "" if "@" in origin else f" {origin[:_SHOWN]!r}"
                raise ValueError(f"an origin is https://host or https://host:port, not{shown}.")
        return tuple(origin.rstrip("/") for origin in origins)

    @field_validator("files")
    @classmethod
    def _check_files(cls, files: Any, info: ValidationInfo) -> Any:
        is_store = isinstance(files, FileStore) and not isinstance(files, type)
        if not is_store and files is not None:
            raise ValueError("a store has the methods put and open; FolderStore(…) is one.")
        if is_store and info.data.get("download_dir") is not None:
            raise ValueError("download_dir names a store already; give one of them.")
        return files

    @field_validator("state")
    @classmethod
    def _check_state(cls, state: Any) -> Any:
        names = ("get", "put", "lock", "rate_limit", "ping")
        methods = (getattr(state, name, None) for name in names)
        if state is None or (all(map(callable, methods)) and not isinstance(state, type)):
            return state
        message = "give a SharedState, for instance RedisState(url)."
        if hasattr(state, "alone") or hasattr(state, "turn"):
            message = "rename its methods: `alone` to `lock`, `turn(most=…)` to "
            message += "`rate_limit(concurrency=…)`."
        raise ValueError(message)

    @field_validator("definition_bytes")
    @classmethod
    def _check_budget(cls, count: int) -> int:
        if count and count < LEAST_BUDGET:
            raise ValueError(f"give 0 for no limit, or {LEAST_BUDGET} at least, not {count}.")
        return count

    @field_validator("idempotency_header")
    @classmethod
    def _check_header(cls, name: str | None) -> str | None:
        if name is not None and name.lower() in _TAKEN:
            raise ValueError(f"{name!r} is a header with a meaning of its own.")
        return name

    @field_validator("approve_for")
    @classmethod
    def _check_approve_for(cls, rule: str | Callable[..., Any]) -> str | Callable[..., Any]:
        if isinstance(rule, str) and not _APPROVED.fullmatch(rule):
            words = "'writes', 'destructive', 'all', the name of an x- extension"
            reason = f"{rule[:_SHOWN]!r} names no calls to approve"
            raise ValueError(f"{reason}; give {words}, or a function of the tool.")
        return rule


def _line(fault: Mapping[str, Any]) -> str:
    """Return one fault as a line; it shows the value of a known member only, and not much of it."""
    name = ".".join(str(step)[:_SHOWN] for step in fault["loc"])
    text = str(fault["msg"])
    if fault["type"] == "extra_forbidden":
        return f"{name}: unknown setting{close_names(name, Settings.model_fields, most=1)}"
    if fault["type"] == "value_error":
        return f"{name}: {text.removeprefix('Value error, ')}"
    value = fault["input"]
    # An address may hold a password, whatever type it was given in.
    given = type(value).__name__ if name == "base_url" else f"{value!r:.{_SHOWN}}"
    return f"{name}: {text[:1].lower()}{text[1:]}, not {given}."
