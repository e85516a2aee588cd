"""Read answers by media type, cut to what a model can take; imported when first used."""

from openapi_tools.forks import importer

__getattr__ = importer(__name__)  # PEP 562
