"""Bytes on the wire, row by row; each row names the section that decides it."""

import pytest
from servers import rows_bodies, rows_parts, rows_places, rows_query, rows_swagger
from servers.documents import document

ROWS = [
    pytest.param(row, id=f"{group}: {row.title}")
    for module in (rows_query, rows_places, rows_bodies, rows_parts, rows_swagger)
    for group, rows in module.GROUPS.items()
    for row in rows
]


def _recorded_part(recorded, what):
    boundary = (recorded.header("content-type") or "").partition("boundary=")[2]
    if what in ("method", "target"):
        return getattr(recorded, what)
    if what == "body":
        return recorded.body.replace(boundary.encode(), b"B") if boundary else recorded.body
    value = recorded.header(what)
    return value.replace(boundary, "B") if value and boundary else value


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("row", ROWS)
async def test_the_bytes_are_those_of_the_standard(row, wire):
    recorded = await wire.send(document(**row.operation), row.arguments)

    assert {what: _recorded_part(recorded, what) for what in row.expected} == row.expected


def test_every_row_cites_what_decides_it():
    assert len(ROWS) >= 150
    assert all(row.values[0].section for row in ROWS)
