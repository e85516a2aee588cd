"""The files for those who contribute and publish: workflows, forms, and pages beside docs/."""

import re
import subprocess
import sys

import pytest
import yaml
from doc_pages import ROOT

GITHUB = ROOT / ".github"
if not GITHUB.exists():
    pytest.skip("an sdist has no .github/", allow_module_level=True)

WORKFLOWS = sorted((GITHUB / "workflows").iterdir())
FORMS = sorted(p for p in (GITHUB / "ISSUE_TEMPLATE").iterdir() if p.name != "config.yml")
SCHEMAS = {
    "vendor.github-workflows": WORKFLOWS,
    "vendor.github-issue-forms": FORMS,
    "vendor.github-issue-config": [GITHUB / "ISSUE_TEMPLATE" / "config.yml"],
    "vendor.dependabot": [GITHUB / "dependabot.yml"],
    "custom.github-workflows-require-timeout": WORKFLOWS,
}
DIGEST = re.compile(r"uses: [\w.-]+/[\w.-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+\n")


def check(schema, *files):
    """Return what check-jsonschema finds in files, by a schema that comes with it."""
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, *files]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def jobs():
    return {
        f"{path.stem}/{name}": job
        for path in WORKFLOWS
        for name, job in yaml.safe_load(path.read_text())["jobs"].items()
    }


@pytest.mark.parametrize("schema", SCHEMAS)
def test_files_of_github_fit_their_schemas(schema):
    assert SCHEMAS[schema]

    done = check(schema, *SCHEMAS[schema])

    assert done.returncode == 0, done.stdout


def test_a_workflow_with_a_wrong_key_is_seen(tmp_path):
    wrong = tmp_path / "ci.yml"
    wrong.write_text((GITHUB / "workflows" / "ci.yml").read_text().replace("runs-on", "run-on"))

    assert check("vendor.github-workflows", wrong).returncode == 1


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_every_action_is_pinned_by_a_digest_and_names_its_version(path):
    lines = [line for line in path.read_text().splitlines(keepends=True) if "uses:" in line]

    assert lines
    assert [line for line in lines if not DIGEST.search(line)] == []


def test_workflows_run_files_that_are_there():
    scripts = {
        script
        for job in jobs().values()
        for step in job["steps"]
        for script in re.findall(r"\.ci/\w+", step.get("run", ""))
    }

    assert scripts == {".ci/run", ".ci/lowest", ".ci/release"}
    assert all((ROOT / script).stat().st_mode & 0o100 for script in scripts)


def test_every_python_is_tested_with_the_lowest_and_the_newest_dependencies():
    project = (ROOT / "pyproject.toml").read_text()
    supported = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', project)

    for name in ("ci/newest", "ci/lowest"):
        assert jobs()[name]["strategy"]["matrix"]["python"] == supported


def test_only_the_job_that_publishes_may_prove_who_it_is_and_it_runs_no_code_of_ours():
    may_sign = [n for n, job in jobs().items() if "id-token" in job.get("permissions", {})]
    publish = jobs()["release/publish"]
    actions = [step["uses"].partition("@")[0] for step in publish["steps"] if "uses" in step]

    assert may_sign == ["release/publish"]
    assert publish["environment"] == "release"
    assert "actions/checkout" not in actions
    assert "actions/attest-build-provenance" in actions
    assert not any("password" in step.get("with", {}) for step in publish["steps"])


@pytest.mark.parametrize("path", sorted(GITHUB.glob("*.md")), ids=lambda path: path.name)
def test_links_of_pages_for_contributors_lead_somewhere(path):
    links = re.findall(r"\]\(([^)#]+)\)", path.read_text())

    assert [link for link in links if not (path.parent / link).exists()] == []


def test_a_bug_report_asks_for_document_request_and_version():
    form = yaml.safe_load((GITHUB / "ISSUE_TEMPLATE" / "bug.yml").read_text())

    assert {"document", "request", "version"} <= {item.get("id") for item in form["body"]}


def test_agents_are_pointed_to_files_that_are_there():
    text = (ROOT / "AGENTS.md").read_text()
    links = re.findall(r"\]\(([^)#]+)\)", text)
    paths = re.findall(r"(?<![\w.-])((?:tests|docs|openapi_tools|generated)/[\w./]*)", text)

    assert len(paths) > 10
    assert [path for path in (*links, *paths) if not (ROOT / path.rstrip(".")).exists()] == []
    assert "Where to add" in (ROOT / "docs" / "contributing.md").read_text()
