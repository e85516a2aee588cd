"""Which operations of a document become tools."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Protocol

from openapi_tools.errors import SettingsError
from openapi_tools.options import kind_of, members_of

if TYPE_CHECKING:
    from collections.abc import Callable


class _Tool(Protocol):
    """The attributes of a tool that a selection looks at."""

    @property
    def name(self) -> str: ...
    @property
    def method(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def tags(self) -> tuple[str, ...]: ...
    @property
    def deprecated(self) -> bool: ...
    @property
    def read_only(self) -> bool: ...


_LISTS = ("tags", "methods", "names", "paths")


@dataclass(frozen=True, slots=True)
class Select:
    """Which operations become tools: those that satisfy every given member.

    Attributes:
        tags: It has one of these tags.
        methods: It has one of these methods, in any case.
        names: Its tool name matches one of these patterns (`*`, `?`, `[…]`).
        paths: Its path matches one of these patterns; `*` matches `/` too.
        deprecated: False leaves deprecated operations out, True takes only those.
        read_only: True takes only operations that change nothing, False only the others.
        exclude: Another selection, whose operations are left out.
        where: Any test of the tool.

    Raises:
        SettingsError: A member of another type.
    """

    tags: Iterable[str] = ()
    methods: Iterable[str] = ()
    names: Iterable[str] = ()
    paths: Iterable[str] = ()
    deprecated: bool | None = None
    where: Callable[[Any], bool] | None = None
    read_only: bool | None = None
    exclude: Select | Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        for name in _LISTS:
            given = getattr(self, name)
            is_list = isinstance(given, Iterable) and not isinstance(given, str)
            texts = tuple(given) if is_list else (given,)
            if not all(isinstance(text, str) for text in texts):
                raise _unfit(name, "a text or a list of texts", given)
            object.__setattr__(self, name, texts)
        for name in ("deprecated", "read_only"):
            if not isinstance(given := getattr(self, name), bool | None):
                raise _unfit(name, "true or false", given)
        if self.where is not None and not callable(self.where):
            raise _unfit("where", "a function of the tool", self.where)
        object.__setattr__(self, "exclude", Select.of(self.exclude))

    @classmethod
    def of(cls, given: Any) -> Select | None:
        """Return a selection; a mapping has its members, a function is its `where`; None for None.

        Raises:
            SettingsError: It is something else, or has a wrong member.
        """
        if given is None or isinstance(given, Select):
            return given
        if isinstance(given, Mapping):
            return cls(**members_of(given, tuple(cls.__dataclass_fields__), "select"))
        if callable(given) and not isinstance(given, type):
            return cls(where=given)
        raise SettingsError(f"select: give Select(tags=…, methods=…, …), not {kind_of(given)}.")

    def takes(self, tool: _Tool) -> bool:
        """Tell whether a tool is selected."""
        return (
            (not self.tags or bool(set(self.tags) & set(tool.tags)))
            and (not self.methods or tool.method in {method.upper() for method in self.methods})
            and self.takes_name(tool.name)
            and (not self.paths or _matches(tool.path, self.paths))
            and (self.deprecated is None or tool.deprecated == self.deprecated)
            and (self.read_only is None or tool.read_only == self.read_only)
            and not (isinstance(self.exclude, Select) and self.exclude.takes(tool))
            and (self.where is None or self.where(tool))
        )

    def takes_name(self, name: str) -> bool:
        """Tell whether a tool of this name may be selected."""
        return not self.names or _matches(name, self.names)


def _unfit(name: str, kind: str, given: object) -> SettingsError:
    return SettingsError(f"select: {name!r} must be {kind}, not {given!r:.60}.")


def _matches(text: str, patterns: Iterable[str]) -> bool:
    """Tell whether a text is one of the patterns or matches one; braces of paths are literal."""
    return any(text == pattern or fnmatchcase(text, pattern) for pattern in patterns)
