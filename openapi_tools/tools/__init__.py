"""Tools and toolsets, and the way of a call; modules are imported when they are first used."""

from openapi_tools.forks import importer

__getattr__ = importer(__name__)  # PEP 562
