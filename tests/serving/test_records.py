"""The log of a server and its audit log, and what a worker does with its options."""

import json
import logging
import os
import re
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("mcp", reason="mcp is not installed")

import documents
from team_servers import document, host_team, write_configuration

from openapi_tools import load_tools
from openapi_tools.errors import SettingsError
from openapi_tools.observability.events import Event
from openapi_tools.redaction import Redactor
from openapi_tools.serving import server_records, team_server, workers
from openapi_tools.serving.server_records import AuditLog, SafeFormatter

PETS = document("Pets", "list_pets")
DONE = Event("completed", "list_pets", "GET", "http://a", call_id="7", status=200, elapsed=0.0123)


@pytest.fixture
def redactor():
    """A secret that the package knows."""
    redactor = Redactor()
    redactor.learn("s3cr3t-value")
    return redactor


@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.usefixtures("redactor")
def test_no_record_of_any_library_shows_a_secret(as_json):
    record = logging.LogRecord(
        "mcp.server", logging.ERROR, "f.py", 1, 'said "%s"', ("s3cr3t-value",), None
    )

    line = SafeFormatter(as_json=as_json).format(record)

    if as_json:
        entry = json.loads(line)
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", entry.pop("time"))
        assert entry == {"level": "error", "logger": "mcp.server", "message": 'said "***"'}
    else:
        assert line == 'ERROR mcp.server: said "***"'


HOSTILE = "a\nINFO root: forged\r\x1b[2Jb\x85\u2028\u202e\u2066c\ud800é\0"
SAFE_TEXT = r"a\nINFO root: forged\u000d\u001b[2Jb\u0085\u2028\u202e\u2066c\ud800é" r"\u0000"


def test_a_line_of_text_holds_no_line_end_and_no_control_character_from_outside():
    record = logging.LogRecord("mcp", logging.WARNING, "f.py", 1, "said %s", (HOSTILE,), None)

    assert SafeFormatter(as_json=False).format(record) == f"WARNING mcp: said {SAFE_TEXT}"


@pytest.mark.usefixtures("redactor")
def test_lines_of_a_traceback_are_indented_and_clean():
    try:
        int(f"{HOSTILE} s3cr3t-value")
    except ValueError as error:
        fault = ValueError(f"{HOSTILE} s3cr3t-value").with_traceback(error.__traceback__)
    record = logging.LogRecord("mcp", logging.ERROR, "f.py", 1, "failed", (), exc_info(fault))
    record.exc_text = "of another handler"

    first, *lines = SafeFormatter(as_json=False).format(record).split("\n")

    second = SAFE_TEXT.split(r"\n")[1]
    assert (first, lines[0]) == ("ERROR mcp: failed", "    Traceback (most recent call last):")
    assert all(line.startswith("    ") for line in lines)
    assert lines[-2:] == ["    ValueError: a", f"    {second} ***"]


def exc_info(error):
    return type(error), error, error.__traceback__


def test_json_lines_are_ascii():
    record = logging.LogRecord("mcp", logging.WARNING, "f.py", 1, "said %s", (HOSTILE,), None)

    line = SafeFormatter(as_json=True).format(record)

    assert line.isascii()
    assert line.isprintable()
    assert json.loads(line)["message"] == f"said {HOSTILE}"


async def test_audit_lines_are_ascii_and_mask_secrets_in_other_letters(tmp_path):
    (tool,) = documents.tools({"/pets": {"get": {"operationId": "list_pets"}}})
    redactor = Redactor()
    redactor.learn("pässwörd-1")
    audit = AuditLog(str(tmp_path / "audit.jsonl"))

    await audit.remember_arguments(
        tool, SimpleNamespace(arguments={"q": f"{HOSTILE}pässwörd-1"}), None
    )
    audit.write_call("pets", DONE)
    audit.write_refusal("ada\u202e", HOSTILE, "7\u2028")

    content = (tmp_path / "audit.jsonl").read_bytes()
    lines = content.decode("ascii").splitlines()
    assert len(lines) == 2
    assert all(line.isprintable() for line in lines)
    assert json.loads(lines[0])["arguments"] == {"q": f"{HOSTILE}***"}
    assert json.loads(lines[1])["tool"] == HOSTILE


def test_records_without_a_handler_are_clean_where_one_document_is_served(monkeypatch, capsys):
    last = logging.StreamHandler(sys.stderr)
    monkeypatch.setattr(logging, "lastResort", last)
    team_server.start_toolset_server(load_tools(PETS), {})

    last.handle(logging.LogRecord("x", logging.WARNING, "f.py", 1, "%s", (HOSTILE,), None))

    assert capsys.readouterr().err == f"{SAFE_TEXT}\n"


def test_an_audit_log_that_cannot_be_opened_is_wrong_configuration(tmp_path):
    with pytest.raises(SettingsError, match=r"audit: .* cannot be written \(.*directory"):
        AuditLog(str(tmp_path / "no" / "audit.jsonl"))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_an_audit_log_that_is_full_is_reported_once_and_calls_go_on(caplog):
    audit = AuditLog("/dev/full")

    audit.write_call("pets", DONE)
    audit.write_call("pets", DONE)

    assert [record.message for record in caplog.records] == [
        "the audit log cannot be written (No space left on device); logged once"
    ]


def test_only_the_end_of_a_call_leaves_a_line(tmp_path):
    audit = AuditLog(str(tmp_path / "audit.jsonl"))

    for kind in ("started", "retry", "completed"):
        audit.write_call("pets", Event(kind, "list_pets", "GET", "http://a"))

    assert len((tmp_path / "audit.jsonl").read_text().splitlines()) == 1


def test_long_ids_of_calls_are_cut(tmp_path):
    audit = AuditLog(str(tmp_path / "audit.jsonl"))

    audit.write_call("pets", replace(DONE, call_id="7" * 1000))
    audit.write_refusal("ada", "no_tool", "8" * 1000)

    lines = (tmp_path / "audit.jsonl").read_text().splitlines()
    assert [json.loads(line)["call_id"] for line in lines] == ["7" * 64, "8" * 64]


async def test_long_arguments_are_cut(tmp_path):
    audit = AuditLog(str(tmp_path / "audit.jsonl"))
    (tool,) = documents.tools({"/pets": {"get": {"operationId": "list_pets"}}})

    await audit.remember_arguments(tool, SimpleNamespace(arguments={"q": "a" * 20_000}), None)
    audit.write_call("pets", DONE)

    line = json.loads((tmp_path / "audit.jsonl").read_text())
    assert len(line["arguments"]) == 10_001
    assert (line["ms"], line["call_id"]) == (12, "7")


@pytest.fixture
def worker(monkeypatch, tmp_path):
    """Make the app of a worker of a configuration."""
    pytest.importorskip("prometheus_client", reason="prometheus-client is not installed")
    for module in (team_server, workers):
        monkeypatch.setattr(module, "write_logs", lambda _: None)

    def make(**apis):
        return workers.worker_app(
            workers.WorkerStart(str(write_configuration(tmp_path, **apis)), {}, 1)
        )

    return make


def test_a_worker_that_starts_again_serves_also_where_no_document_can_be_read(worker):
    assert callable(worker(pets=PETS))
    assert callable(worker(gone='source = "nowhere.json"'))


def test_a_worker_whose_configuration_was_spoiled_ends_with_the_reason(worker, tmp_path, caplog):
    with pytest.raises(SystemExit):
        worker(**{"a-name-that-is-longer-than-a-name-may-be": PETS})

    assert "a name has at most 24 letters" in caplog.records[-1].message


async def test_without_the_package_for_metrics_their_page_says_so(monkeypatch, tmp_path):
    monkeypatch.setattr(team_server, "find_spec", lambda _: None)
    async with host_team(write_configuration(tmp_path, pets=PETS)) as server:
        response = await server.get("/metrics")

    assert (response.status_code, response.text) == (
        501,
        "prometheus-client is missing; install the extra serve.\n",
    )


def test_the_log_goes_to_standard_error(monkeypatch, capsys):
    root = logging.getLogger()
    monkeypatch.setattr(root, "handlers", [])
    monkeypatch.setattr(root, "level", root.level)  # which write_logs sets
    before = server_records.logger.level

    try:
        server_records.write_logs("text")
        server_records.logger.info("one")
        logging.getLogger("other").info("two")
        logging.getLogger("other").warning("three")
    finally:
        server_records.logger.setLevel(before)

    assert capsys.readouterr().err == ("INFO openapi_tools.serving: one\nWARNING other: three\n")
    assert os.environ.get("PROMETHEUS_MULTIPROC_DIR") is None
