"""Check a model's input against its schema, and describe its faults; imported when first used."""

from openapi_tools.forks import importer

__getattr__ = importer(__name__)  # PEP 562
