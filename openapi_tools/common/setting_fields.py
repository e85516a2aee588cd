"""The list of settings: the type, the default, the bounds and the meaning of each.

`Settings` validates them. Their page of the docs, the JSON Schema of configuration files, the
options of the command line and the relative paths of a configuration are derived from them. To add
a setting, add a field here and its type to `SettingsMembers`, which type checkers read and a test
compares with this list.
"""

# Without `from __future__ import annotations`: commands read the annotations when they start, and
# evaluating 50 strings takes longer than creating the class with its annotations as values.

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from openapi_tools.common.setting import Setting

LEAST_BUDGET = 2_048  # the smallest budget of a definition, in bytes
_MEBIBYTE = 1024 * 1024


class SettingFields:
    """The settings with their defaults, without validation."""

    __slots__ = ()

    base_url: Annotated[
        str | None,
        Setting(
            "The URL of the API, which replaces every server of the document, including the "
            "path: `http://localhost:8000/v1`. If calls then get 404, the error says whether the "
            "path of the document's own server is missing."
        ),
    ] = None
    server_variables: Annotated[
        dict[str, str], Setting("Values for the variables in the document's server URLs, by name.")
    ] = {}  # noqa: RUF012 -- pydantic copies it, and nothing changes it
    timeout: Annotated[
        float,
        Setting(
            "Seconds for a whole call, including the time in the queue. Fetching the document "
            "has the same time again.",
            acts_on="document and calls",
            gt=0,
        ),
    ] = 30.0
    wait: Annotated[
        float,
        Setting(
            "Seconds to wait for the end of a long-running operation, which the API has only "
            "accepted (202).",
            page="shaping.md#long-running-operations",
            ge=0,
            finite=True,
        ),
    ] = 0.0
    concurrency: Annotated[
        int, Setting("Calls of one toolset that run at once; more are queued.", ge=1)
    ] = 20
    max_response_bytes: Annotated[
        int, Setting("A larger response, decompressed, is an error (10 MiB).", ge=1)
    ] = 10 * _MEBIBYTE
    max_file_bytes: Annotated[
        int,
        Setting(
            "A larger response, decompressed, is an error if it is stored as a file (1 GiB).",
            page="shaping.md#files",
            ge=1,
        ),
    ] = 1024 * _MEBIBYTE
    max_output_chars: Annotated[
        int,
        Setting(
            "Longer output, as text, is cut. It then says how much is missing and how to get it.",
            ge=100,
        ),
    ] = 60_000
    max_items: Annotated[
        int,
        Setting(
            "Items to keep of each list in a response; 0 keeps all.",
            page="shaping.md#responses",
            ge=0,
        ),
    ] = 0
    drop: Annotated[
        tuple[str, ...],
        Setting(
            'Name patterns of properties to leave out of responses at any depth: `"*_url"`. '
            "They are case-sensitive.",
            page="shaping.md#responses",
        ),
    ] = ()
    nulls: Annotated[bool, Setting("Keep properties of responses whose value is null.")] = True
    max_input_chars: Annotated[
        int, Setting("Longer tool input, as JSON, is refused (4 Mi characters).", ge=1)
    ] = 4 * _MEBIBYTE
    max_base64_bytes: Annotated[
        int,
        Setting(
            "A binary response up to this size becomes base64, a larger one its media type "
            "and size. PNG, JPEG, GIF and WebP images may be larger.",
            ge=0,
        ),
    ] = 8192
    download_dir: Annotated[
        Path | None,
        Setting(
            "The folder for binary responses, of up to `max_file_bytes`. File arguments take "
            "their handles.",
            page="shaping.md#files",
        ),
    ] = None
    files: Annotated[
        Any,
        Setting(
            "A store of your own instead of `download_dir`: a `FileStore`.",
            page="shaping.md#files",
            python_only=True,
        ),
    ] = None
    check_responses: Annotated[
        bool,
        Setting(
            "Compare responses with the document and list what does not match in `result."
            'metadata["response_problems"]`. The call does not fail for it.'
        ),
    ] = False
    record: Annotated[
        Path | None,
        Setting("A folder that gets each call and its response.", page="guides/learn.md"),
    ] = None
    file_roots: Annotated[
        tuple[Path, ...], Setting("Folders from which file arguments may name a `path`.")
    ] = ()
    prefix: Annotated[
        str,
        Setting(
            'The prefix of every tool name: `"github_"`.',
            acts_on="tools",
            pattern=r"^([A-Za-z_][A-Za-z0-9_-]{0,39})?$",
        ),
    ] = ""
    short_names: Annotated[
        bool,
        Setting(
            "Name tools after their functions where FastAPI generated the operation ids.",
            page="shaping.md#names",
            acts_on="tools",
        ),
    ] = True
    body: Annotated[
        Literal["flat", "nested"],
        Setting(
            '`"flat"` makes each property of an object body an argument of its own; '
            '`"nested"` makes one argument `body`.',
            acts_on="tools",
        ),
    ] = "flat"
    media_types: Annotated[
        tuple[str, ...] | dict[str, tuple[str, ...]],
        Setting(
            "Request media types in order of preference, before the built-in order; or a dict "
            "by tool name, whose media type is sent even if the document does not list it: "
            '`{"image_create": "application/x-tar"}`. From a list, '
            '`{"save": ["application/json", "text/csv"]}`, the model chooses with an argument '
            "`media_type`.",
            acts_on="tools",
        ),
    ] = ()
    description_chars: Annotated[
        int, Setting("The longest description of a tool or an argument.", acts_on="tools", ge=16)
    ] = 1024
    describe: Annotated[
        tuple[Literal["returns", "errors"], ...],
        Setting(
            'Lines to add to descriptions: `"returns"`, what a call returns, and `"errors"`, '
            "when it fails.",
            page="shaping.md#descriptions",
            acts_on="tools",
        ),
    ] = ("returns", "errors")
    definitions: Annotated[
        Literal["full", "short", "tight"],
        Setting(
            "How much text a model gets in `toolset.definitions` and from coordinators: "
            '`"full"`, `"short"` or `"tight"`. Calls are checked against the full schema.',
            page="shaping.md#a-budget-for-definitions",
        ),
    ] = "short"
    definition_bytes: Annotated[
        int,
        Setting(
            "The largest definition of a tool, as JSON: 0 for no limit, otherwise at least "
            f"{LEAST_BUDGET:,}."
        ),
    ] = 16_384
    response_schemas: Annotated[
        bool,
        Setting(
            "Declare the schemas of responses to models and clients that read them: MCP, OpenAI's "
            "Responses API, Gemini and Pydantic-AI.",
            page="contracts.md#response-schemas",
        ),
    ] = False
    max_document_bytes: Annotated[
        int, Setting("A larger document is refused (64 MiB).", acts_on="document", ge=1)
    ] = 64 * _MEBIBYTE
    ref_root: Annotated[
        Path | None,
        Setting(
            "The folder inside which `$ref` may read files; by default the document's own.",
            acts_on="document",
        ),
    ] = None
    ref_urls: Annotated[
        tuple[str, ...], Setting("URL prefixes from which `$ref` may fetch.", acts_on="document")
    ] = ()
    allow_private: Annotated[
        bool | None,
        Setting(
            "Whether calls may reach loopback, private and link-local addresses; by default "
            "they may, unless the document came from a public address. The default exempts "
            "`base_url`. `False` does not, and refuses to fetch documents from such addresses.",
            acts_on="document and calls",
        ),
    ] = None
    trust_env: Annotated[
        bool,
        Setting(
            "Take proxies (`HTTPS_PROXY`, …) and certificate authorities from the environment.",
            acts_on="document and calls",
        ),
    ] = False
    ca_file: Annotated[
        Path | None,
        Setting(
            "A PEM file of certificate authorities to trust in addition to the usual ones.",
            acts_on="document and calls",
        ),
    ] = None
    credential_origins: Annotated[
        tuple[str, ...] | None,
        Setting(
            'Where credentials may go: `"https://api.example.com"`. By default that is the '
            "origin of `base_url`, or else of the document's first server; if the document came "
            "from a URL, that server has to be at the URL's origin. An empty list sends them "
            "nowhere.",
            acts_on="document and calls",
        ),
    ] = None
    anonymous: Annotated[
        bool, Setting("Call operations even if the credentials they require are missing.")
    ] = False
    retries: Annotated[
        int,
        Setting(
            "How often a call that is safe to repeat is tried again, at most 10 times.",
            page="python.md#trying-again",
            ge=0,
            le=10,
        ),
    ] = 0
    idempotency_header: Annotated[
        str | None,
        Setting(
            "The header for idempotency keys of POST and PATCH.",
            pattern=r"^[A-Za-z0-9!#$%&'*+.^_`|~-]+$",
        ),
    ] = None
    idempotency_argument: Annotated[
        bool,
        Setting(
            "Let MCP clients that cannot send `_meta` name a write in the argument "
            "`idempotency_key`.",
            page="contracts.md#one-write-for-one-request",
        ),
    ] = False
    approve: Annotated[
        Callable[..., Any] | None,
        Setting(
            "A function that is asked, with a `Preview`, before the calls that `approve_for` "
            "selects; it may be async.",
            page="python.md#looking-before-sending",
            python_only=True,
        ),
    ] = None
    approve_for: Annotated[
        str | Callable[..., Any],
        Setting(
            'The calls to approve: `"writes"` (all but read-only tools), `"destructive"`, '
            '`"all"`, an extension that is `true` in the operation (`"x-needs-approval"`), or a '
            "function of the tool."
        ),
    ] = "writes"
    show_changes: Annotated[
        bool,
        Setting(
            "Read the current state before a person approves a write.",
            page="python.md#what-a-write-changes",
        ),
    ] = True
    dry_run: Annotated[bool, Setting("Send nothing; the output is the request.")] = False
    trace_context: Annotated[
        bool, Setting("Send the W3C trace context to origins that credentials may go to.")
    ] = False
    cache: Annotated[
        bool,
        Setting(
            "Cache parsed documents, so that the next load is fast.",
            page="cache.md",
            acts_on="document",
        ),
    ] = True
    stale: Annotated[
        bool,
        Setting(
            "Use the cached copy of a document if its server cannot be reached; "
            "`toolset.warnings` gives its age.",
            acts_on="document",
        ),
    ] = False
    synonyms: Annotated[
        bool | dict[str, tuple[str, ...]],
        Setting(
            "Whether a search over tools knows common synonyms and abbreviations, such as `repo` "
            'for `repository`; or your own in their place: `{"sticky": ["pin"]}`.',
            page="large-apis.md#your-own-words",
        ),
    ] = True
    embed: Annotated[
        Callable[..., Any] | None,
        Setting(
            "A function that returns vectors for that search, one for each string of a list. "
            "It runs in a thread.",
            page="large-apis.md#search",
            python_only=True,
        ),
    ] = None
    state: Annotated[
        Any,
        Setting(
            "The state that several processes share, such as `RedisState(url)`: tokens, "
            "limits and cached responses.",
            page="shared-state.md",
            python_only=True,
        ),
    ] = None
    rate: Annotated[
        float | None,
        Setting("Requests to one API in a second; more are queued.", gt=0, finite=True),
    ] = None
    user_concurrency: Annotated[
        int | None, Setting("Calls of each `Context.user` that run at once.", ge=1)
    ] = None
    user_rate: Annotated[
        float | None, Setting("Requests of each `Context.user` in a second.", gt=0, finite=True)
    ] = None
    http_cache: Annotated[
        bool,
        Setting(
            "Cache responses to GET as HTTP allows (RFC 9111), separately for each user and "
            "credential. This needs the extra `http-cache`.",
            page="shared-state.md#cached-responses",
        ),
    ] = False


RENAMED_SETTINGS = {"check_answers": "check_responses"}
"""New names by the old ones, which are refused."""

REMOVED_SETTINGS = {"transport": "there is only one transport now; leave it out."}
"""What to do instead of settings that there are no more, which are refused."""

DEFAULT_SETTINGS: Any = SettingFields()  # in place of `Settings`: readers use its fields only


def setting_names(*acts_on: str) -> frozenset[str]:
    """Return the names of the settings, or of those that act on something."""
    return frozenset(
        name
        for name in SettingFields.__annotations__
        if not acts_on or setting(name).acts_on in acts_on
    )


def setting(name: str) -> Setting:
    """Return the meaning of a setting."""
    meaning: Setting = SettingFields.__annotations__[name].__metadata__[0]
    return meaning


def setting_type(name: str) -> Any:
    """Return the type of a setting's value."""
    return get_args(SettingFields.__annotations__[name])[0]


def holds_paths(name: str) -> bool:
    """Return whether the value of a setting is a path, or a tuple of paths."""
    return Path in get_args(setting_type(name))
