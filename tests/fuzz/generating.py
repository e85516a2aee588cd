"""Documents -> `generate_package`, and the packages -> Python.

Starting a Python takes longer than generating, so a case is several documents, imported together.
"""

import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import hostile_documents
from fuzz.budget import Harness, nothing_reached
from fuzz.mutations import CHANGED, TAMPERED, Tampered
from hostile_packages import assert_harmless, describe_toolset, files_of, import_all
from hypothesis import strategies as st

from openapi_tools import Settings, generate_package, load_tools
from openapi_tools.errors import OpenAPIToolsError

LONGEST = 20.0
"""Seconds of CPU for one document."""

_DOCUMENTS = 8


class PackagePlan(NamedTuple):
    """A document and what becomes of it."""

    document: Tampered | None
    layout: str
    text: str = ""

    def source(self):
        """Return what is generated from."""
        if self.document is None:
            return hostile_documents.hostile(self.text)
        return self.document.data() if self.document.cuts else self.document.value()


_LAYOUTS = st.sampled_from(["package", "module"])
_TEXTS = st.text(max_size=30) | st.lists(
    st.sampled_from([*hostile_documents.CODE.values(), *hostile_documents.NAMES.values()]),
    max_size=3,
).map("".join)
PACKAGE_PLANS = st.one_of(
    st.builds(PackagePlan, CHANGED, _LAYOUTS, st.just("")),
    st.builds(PackagePlan, TAMPERED, _LAYOUTS, st.just("")),
    st.builds(PackagePlan, st.none(), _LAYOUTS, _TEXTS),
)


def check_packages(plans):
    """Fail if a package holds anything but data, or says something else than the loaded tools."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place).resolve()
        sources = {str(number): one.source() for number, one in enumerate(plans)}
        packages = []
        for (name, source), one in zip(sources.items(), plans, strict=True):
            output = folder / "out" / name
            if _generate(source, output, one.layout):
                assert_harmless(files_of(output), one.layout)
                packages.append((name, output, "museum_tools"))
        assert [path.name for path in folder.iterdir()] in ([], ["out"])
        for name, description in import_all(packages, folder / "cwd").items() if packages else ():
            assert description == describe_toolset(
                load_tools(sources[name], settings=Settings(cache=False))
            )


def _generate(source, output, layout):
    """Generate a package; whether there is one."""
    started = time.process_time()
    with nothing_reached(output.parents[1]):
        try:
            generate_package(source, output, name="museum", layout=layout)  # type: ignore[arg-type]
        except OpenAPIToolsError as error:
            str(error).encode()
            return False
    assert time.process_time() - started < LONGEST
    return True


GENERATING = Harness(
    "generate", st.lists(PACKAGE_PLANS, min_size=1, max_size=_DOCUMENTS), check_packages, examples=5
)
