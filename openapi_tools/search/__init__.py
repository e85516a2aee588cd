"""Find tools: index, producers, stubs, the tools that search and call; imported when first used."""

from openapi_tools.forks import importer

__getattr__ = importer(__name__)  # PEP 562
