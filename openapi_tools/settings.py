"""The settings for the tools of one document."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Literal,
    TypedDict,
    Unpack,
)

from pydantic import BaseModel, ConfigDict, ValidationError, ValidationInfo, field_validator

from openapi_tools.common.http_rules import WEB_URL, is_media_type, is_wildcard
from openapi_tools.common.options import describe_unknown_setting
from openapi_tools.common.setting_fields import LEAST_BUDGET, SettingFields, setting_names
from openapi_tools.errors import SettingsError
from openapi_tools.state.file_protocols import FileStore

if TYPE_CHECKING:
    from openapi_tools.state.shared_state import SharedState

_URL_WITH_USER = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^/?#]*@")
_HOST_AND_PATH = re.compile(r"[^\s:/?#@]+(:[0-9]+)?(/[^\s@]*)?")
_EXCERPT_LENGTH = 60  # characters of a value in a message
_RESERVED_HEADERS = frozenset(
    {"authorization", "connection", "content-length", "content-type", "cookie", "host"}
)
_ORIGIN = re.compile(r"https?://[^\s/?#@]+/?", re.IGNORECASE)
_APPROVAL_RULE = re.compile(r"writes|destructive|all|x-.+")


_Path = str | os.PathLike[str]
_Function = Callable[..., Any]


class SettingsMembers(TypedDict, total=False):
    """The settings as keyword arguments of `load_tools`, for type checkers.

    A type checker cannot derive them from `SettingFields`: this is the one other list of settings,
    and a test compares the two. Sequences, mappings and strings are accepted where a setting has
    tuples, dicts and paths.
    """

    base_url: str | None
    server_variables: Mapping[str, str]
    timeout: float
    wait: float
    concurrency: int
    max_response_bytes: int
    max_file_bytes: int
    max_output_chars: int
    max_items: int
    drop: Sequence[str]
    nulls: bool
    max_input_chars: int
    max_base64_bytes: int
    download_dir: _Path | None
    files: FileStore | None
    check_responses: bool
    record: _Path | None
    file_roots: Sequence[_Path]
    prefix: str
    short_names: bool
    body: Literal["flat", "nested"]
    media_types: Sequence[str] | Mapping[str, Sequence[str]]
    description_chars: int
    describe: Sequence[Literal["returns", "errors"]]
    definitions: Literal["full", "short", "tight"]
    definition_bytes: int
    response_schemas: bool
    max_document_bytes: int
    ref_root: _Path | None
    ref_urls: Sequence[str]
    allow_private: bool | None
    trust_env: bool
    ca_file: _Path | None
    credential_origins: Sequence[str] | None
    anonymous: bool
    retries: int
    idempotency_header: str | None
    idempotency_argument: bool
    approve: _Function | None
    approve_for: str | _Function
    show_changes: bool
    dry_run: bool
    trace_context: bool
    cache: bool
    stale: bool
    synonyms: bool | Mapping[str, Sequence[str]]
    embed: _Function | None
    state: SharedState | None
    rate: float | None
    user_concurrency: int | None
    user_rate: float | None
    http_cache: bool


class Settings(SettingFields, BaseModel):
    """How a document is read and how its tools call the API.

    `openapi-tools init --schema` prints each setting with its meaning.

    Raises:
        SettingsError: An unknown name or a wrong value; one line for each.
    """

    SHAPING: ClassVar[frozenset[str]] = setting_names("tools")
    """The settings that decide what a tool looks like; a generated package has them built in."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    def __init__(self, **members: Unpack[SettingsMembers]) -> None:
        try:
            super().__init__(**members)
        except ValidationError as error:
            reason = "\n".join(map(_describe_fault, error.errors()))
        else:
            return
        # A traceback shows the variables of its frames, and an address may hold a password.
        members = {}
        raise SettingsError(reason) from None

    @field_validator("base_url")
    @classmethod
    def _check_base_url(cls, url: str | None) -> str | None:
        if url is None:
            return url
        if _URL_WITH_USER.match(url):
            reason = "a URL must not contain a user or a password; pass credentials instead"
            raise ValueError(f"{reason} (the part before the @ is not shown here).")
        if WEB_URL.match(url):
            return url
        excerpt = "" if "@" in url else f" {url[:_EXCERPT_LENGTH]!r}"  # a password may precede an @
        hint = (
            f"; did you mean 'http://{url[:_EXCERPT_LENGTH]}'?"
            if _HOST_AND_PATH.fullmatch(url)
            else "."
        )
        raise ValueError(f"the URL{excerpt} must begin with http:// or https://{hint}")

    @field_validator(
        "credential_origins",
        "drop",
        mode="before",
        json_schema_input_type=str | tuple[str, ...] | None,
    )
    @classmethod
    def _wrap_string(cls, value: Any) -> Any:
        return (value,) if isinstance(value, str) else value

    @field_validator(
        "media_types",
        mode="before",
        json_schema_input_type=str | tuple[str, ...] | dict[str, str | tuple[str, ...]],
    )
    @classmethod
    def _wrap_media_types(cls, value: Any) -> Any:
        return (value,) if isinstance(value, str) else _wrap_values(value)

    @field_validator(
        "synonyms", mode="before", json_schema_input_type=bool | dict[str, str | tuple[str, ...]]
    )
    @classmethod
    def _wrap_synonyms(cls, value: Any) -> Any:
        # Pydantic's messages would name the two types instead of what to write.
        if isinstance(value, bool):
            return value
        is_mapping = isinstance(value, Mapping)
        if not is_mapping:
            example = '{"sticky": ["pin"]}'
            message = f"expected true, false or words with their synonyms, such as {example}"
            raise ValueError(f"{message}, not {value!r:.{_EXCERPT_LENGTH}}.")
        synonyms = _wrap_values(dict(value))
        for word, listed in synonyms.items():
            is_list = isinstance(listed, list | tuple)
            if not is_list or not all(isinstance(synonym, str) for synonym in listed):
                raise ValueError(f"{word!r:.{_EXCERPT_LENGTH}} needs a word or a list of words.")
        return synonyms

    @field_validator("drop")
    @classmethod
    def _check_patterns(cls, patterns: tuple[str, ...]) -> tuple[str, ...]:
        if "" in patterns:
            raise ValueError("an empty pattern matches no property; leave it out.")
        return patterns

    @field_validator("media_types")
    @classmethod
    def _check_media_types(
        cls, kinds: tuple[str, ...] | dict[str, tuple[str, ...]]
    ) -> tuple[str, ...] | dict[str, tuple[str, ...]]:
        # In a list, a wildcard is a preference; the media types of a tool are sent as they are.
        for name, listed in kinds.items() if isinstance(kinds, dict) else ():
            invalid = [kind for kind in listed if not is_media_type(kind) or is_wildcard(kind)]
            if invalid or not listed:
                excerpt = f"{invalid[0]!r:.{_EXCERPT_LENGTH}}" if invalid else "none"
                raise ValueError(f"{name!r:.{_EXCERPT_LENGTH}} needs a media type, not {excerpt}.")
        return kinds

    @field_validator("embed")
    @classmethod
    def _check_embed(cls, embed: Callable[..., Any] | None) -> Callable[..., Any] | None:
        if inspect.iscoroutinefunction(embed):
            raise ValueError("the function must not be async, as searches run in a thread.")
        return embed

    @field_validator("credential_origins")
    @classmethod
    def _check_origins(cls, origins: tuple[str, ...] | None) -> tuple[str, ...] | None:
        # A path is refused: it would promise that only requests below it get the credentials.
        if origins is None:
            return None
        for origin in origins:
            if not _ORIGIN.fullmatch(origin):
                excerpt = "this" if "@" in origin else f"{origin[:_EXCERPT_LENGTH]!r}"
                reason = f"{excerpt} is not an origin"
                raise ValueError(f"{reason}; write https://host or https://host:port.")
        return tuple(origin.rstrip("/") for origin in origins)

    @field_validator("files")
    @classmethod
    def _check_files(cls, files: Any, info: ValidationInfo) -> Any:
        is_store = isinstance(files, FileStore) and not isinstance(files, type)
        if not is_store and files is not None:
            raise ValueError("a store needs the methods put and open, as FolderStore(…) has.")
        if is_store and info.data.get("download_dir") is not None:
            raise ValueError("download_dir already names a store; set only one of them.")
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
            raise ValueError(f"must be 0 for no limit, or at least {LEAST_BUDGET}, not {count}.")
        return count

    @field_validator("idempotency_header")
    @classmethod
    def _check_header(cls, name: str | None) -> str | None:
        if name is not None and name.lower() in _RESERVED_HEADERS:
            raise ValueError(f"{name!r} is a header that HTTP itself defines; name another.")
        return name

    @field_validator("approve_for")
    @classmethod
    def _check_approve_for(cls, rule: str | Callable[..., Any]) -> str | Callable[..., Any]:
        if isinstance(rule, str) and not _APPROVAL_RULE.fullmatch(rule):
            choices = "'writes', 'destructive', 'all', the name of an x- extension"
            reason = f"{rule[:_EXCERPT_LENGTH]!r} does not name calls to approve"
            raise ValueError(f"{reason}; expected {choices}, or a function of the tool.")
        return rule


def _wrap_values(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {key: (part,) if isinstance(part, str) else part for key, part in value.items()}


def _describe_fault(fault: Mapping[str, Any]) -> str:
    # Only the value of a known setting is shown: that of an unknown one may be a secret.
    name = ".".join(str(step)[:_EXCERPT_LENGTH] for step in fault["loc"])
    message = str(fault["msg"])
    if fault["type"] == "extra_forbidden":
        return describe_unknown_setting(name, most=1)
    if fault["type"] == "value_error":
        return f"{name}: {message.removeprefix('Value error, ')}"
    value = fault["input"]
    # A URL may hold a password, whatever type it has.
    excerpt = type(value).__name__ if name == "base_url" else f"{value!r:.{_EXCERPT_LENGTH}}"
    return f"{name}: {message[:1].lower()}{message[1:]}, not {excerpt}."
