"""What tests of the document cache share."""

from openapi_tools.loading.lazy_dict import LazyDict


def is_from_cache(toolset):
    """Return whether a toolset did not parse its document."""
    return any(type(tool._builder._document.root) is LazyDict for tool in toolset)


def cached_files(folder):
    """Return the files of a cache."""
    return sorted(folder.glob("*")) if folder.is_dir() else []
