"""How users shape tools: configuration, overlays, answers, paging; imported when first used."""

from openapi_tools.forks import importer

__getattr__ = importer(__name__)  # PEP 562
