"""openapi-core's checks of requests, responses and documents, and the operation of a request.

The mock uses them for requests, `Settings(check_responses=True)` for responses, `lint` for
documents. Loading and calling do not need them.
"""
