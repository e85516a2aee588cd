"""Proofs of the tools of published documents: what is proved, not judged, and fails.

What fails is the document's: a default or an example that breaks its own schema. What is not judged
is listed in docs/limits.md.
"""

import asyncio
from collections import Counter

import corpus
import pytest

from openapi_tools import load_tools
from openapi_tools.testing import mock_api
from openapi_tools.testing.mock import ADDRESS
from openapi_tools.testing.proving import prove_tools

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not corpus.FOLDER.is_dir(), reason=corpus.ABSENT),
]
PROVED = {  # proved, not judged, failed
    "airflow": ("apache.org/airflow/v1.yaml", 89, 0, 0),
    "apideck": ("apideck.com/vault.yaml", 31, 0, 0),
    "firecracker": ("firecracker/firecracker.json", 26, 0, 0),
    "prometheus 3.1": ("prometheus/openapi_3.1_golden.yaml", 49, 0, 0),
    "prometheus 3.2": ("prometheus/openapi_3.2_golden.yaml", 50, 0, 0),
    "invoicing": ("paypal/invoicing_v2.json", 19, 0, 1),
    "realworld": ("realworld/openapi.yml", 19, 0, 0),
    "styles of 3.0": ("oapi-codegen/parameters.yaml", 28, 0, 0),
    "sendgrid": ("twilio/sendgrid/tsg_mc_contacts_v3.yaml", 15, 0, 0),
    "security": ("readme/3.1/security.yaml", 15, 0, 0),
    # Alternatives, discriminators and patterns that no sample tells apart or fits.
    "cafe": ("redocly/cafe.yaml", 10, 2, 0),
    "iceberg": ("apache.org/rest-catalog-open-api.yaml", 30, 5, 0),
    "spotify": ("spotify/fixed-spotify-open-api.yml", 94, 3, 0),
    "superset": ("apache.org/superset/superset.json", 138, 2, 0),
    "typesense": ("typesense/openapi.yml", 78, 1, 0),
    "unitycatalog": ("unitycatalog/all.yaml", 54, 0, 0),
    # References to another server.
    "drs": ("ga4gh/data_repository_service.openapi.yaml", 6, 3, 0),
    # Swagger 2.0.
    "kubernetes": ("kubernetes/swagger.json", 1063, 0, 0),
    "harbor": ("goharbor/swagger.yaml", 203, 0, 0),
    "trello": ("trello.com/swagger.yaml", 324, 0, 0),
    "docker": ("docker/swagger.yaml", 96, 12, 0),
    "slack": ("slack/slack_web_openapi_v2.json", 140, 0, 34),
    "gotify": ("gotify/spec.json", 42, 0, 0),
    # Examples that break their schema; a required property without a description.
    "meilisearch": ("meilisearch/open-api.json", 107, 0, 6),
    "messaging": ("twilio/twilio_messaging_v1.json", 51, 0, 7),
    "github": ("github/api.github.com.json", 1027, 9, 187),
    "figma": ("figma/openapi.yaml", 46, 1, 0),
}


def proofs_of(path):
    loaded = []
    api = mock_api(lambda: loaded[0], refuse=False, state=False)
    options = {"base_url": ADDRESS, "anonymous": True, "check_responses": True, "timeout": 600}
    loaded.append(load_tools(corpus.FOLDER / path, client=api.client(), **options))
    return asyncio.run(prove_tools(loaded[0], api))


@pytest.mark.parametrize(("path", "proved", "unjudged", "failed"), PROVED.values(), ids=PROVED)
def test_the_tools_of_a_published_document_are_proved(path, proved, unjudged, failed):
    proofs = proofs_of(path)

    counts = Counter(proof.verdict for proof in proofs)
    reasons = [(proof.tool, proof.reason) for proof in proofs if proof.verdict != "proved"]
    numbers = counts["proved"], counts["not judged"], counts["failed"]
    assert numbers == (proved, unjudged, failed), reasons
    assert all(reason for _, reason in reasons)
    assert {proof.cause for proof in proofs} <= {"", "document"}


UNPROVED = [
    entry for entry in corpus.entries() if entry.path not in {row[0] for row in PROVED.values()}
]


@pytest.mark.parametrize("entry", corpus.parameters(UNPROVED))
def test_no_tool_of_a_published_document_is_at_fault(entry):
    proofs = proofs_of(entry.path)

    assert [(proof.tool, proof.reason) for proof in proofs if proof.cause == "tool"] == []
    assert all(proof.reason for proof in proofs if proof.verdict != "proved")
