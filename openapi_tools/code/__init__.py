"""Programs that call tools, in a sandbox; imported when first used, with the extra `code`."""

from openapi_tools.forks import importer

__getattr__ = importer(__name__)  # PEP 562
