"""What a user may set for the tools of one document."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 -- pydantic reads the annotations
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

MEBIBYTE = 1024 * 1024


class Settings(BaseModel):
    """How a document is read and how its tools call the API.

    Attributes:
        base_url: Replaces every server of the document, path included: `"http://localhost:8000/v1"`.
        server_variables: Values for the placeholders of the document's server URLs, by name.
        timeout: Seconds for a whole call, from the first byte sent to the last byte read; the same
            bound holds for fetching the document.
        concurrency: Calls of one toolset that may be under way at once; more wait for their turn.
        max_response_bytes: An answer larger than this, decoded, is an error.
        max_output_chars: An output longer than this, as text, is cut and says so.
        max_input_chars: Tool input longer than this, as JSON, is refused.
        download_dir: Folder where binary answers are written; without it they come as base64.
        check_answers: Compare answers with the document (openapi-core); what does not fit is
            listed in `result.metadata["answer_problems"]`, the call does not fail.
        file_roots: Folders from which file arguments may name a `path`; none by default.
        prefix: Put before every tool name, for instance `"github_"`.
        body: `"flat"` offers the members of a plain object body as arguments of their own,
            `"nested"` always gives one argument `body`.
        media_types: Request media types in order of preference, before the built-in order; a media
            type that an operation does not list is passed over.
        description_chars: Longest description of a tool or an argument.
        max_document_bytes: A larger document is refused.
        ref_root: Folder inside which `$ref` may read files; the document's own folder by default,
            none for a document given as a value.
        ref_urls: URL prefixes that `$ref` may fetch from; none by default.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    base_url: str | None = None
    server_variables: dict[str, str] = Field(default_factory=dict)
    timeout: float = Field(default=30.0, gt=0)
    concurrency: int = Field(default=64, ge=1)
    max_response_bytes: int = Field(default=10 * MEBIBYTE, ge=1)
    max_output_chars: int = Field(default=256_000, ge=100)
    max_input_chars: int = Field(default=4 * MEBIBYTE, ge=1)
    download_dir: Path | None = None
    check_answers: bool = False
    file_roots: tuple[Path, ...] = ()
    prefix: str = Field(default="", pattern=r"^([A-Za-z_][A-Za-z0-9_-]{0,39})?$")
    body: Literal["flat", "nested"] = "flat"
    media_types: tuple[str, ...] = ()
    description_chars: int = Field(default=1024, ge=16)
    max_document_bytes: int = Field(default=64 * MEBIBYTE, ge=1)
    ref_root: Path | None = None
    ref_urls: tuple[str, ...] = ()
