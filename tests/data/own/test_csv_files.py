"""CSV is read as RFC 4180 has it: cells stay text, places are an editor's lines. Any bytes are data or one error."""

from __future__ import annotations

import csv
import io
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from engnn.data import own
from engnn.data.own.csv_files import ROWS_AT_ONCE, read_csv
from engnn.errors import InputError

Write = Callable[[Mapping[str, str | bytes]], Path]


def columns(folder: Path) -> dict[str, list[str] | np.ndarray]:
    return read_csv(folder / "edges.csv", "edges").columns


@pytest.mark.parametrize(
    "text",
    [
        "source,target\na,b\nc,d\n",
        "source,target\na,b\nc,d",
        "source,target\r\na,b\r\nc,d\r\n",
        "\ufeffsource,target\na,b\nc,d\n",
        "source,target\n\na,b\n\n\nc,d\n\n",
        '"source","target"\n"a",b\nc,"d"\n',
        " source , target \na,b\nc,d\n",
    ],
)
def test_every_way_to_end_lines_and_to_quote_gives_the_same_cells(text: str, write: Write) -> None:
    assert columns(write({"edges.csv": text})) == {"source": ["a", "c"], "target": ["b", "d"]}


def test_commas_quotes_and_lines_within_a_cell_are_kept(write: Write) -> None:
    text = 'source,target\n"a,b","say ""hi"""\n"two\nlines","two\r\nmore"\n'
    assert columns(write({"edges.csv": text})) == {
        "source": ["a,b", "two\nlines"],
        "target": ['say "hi"', "two\r\nmore"],
    }


@pytest.mark.parametrize("rows", [1, ROWS_AT_ONCE - 1, ROWS_AT_ONCE, ROWS_AT_ONCE + 1, 3 * ROWS_AT_ONCE])
def test_no_row_is_lost_where_rows_are_put_away(rows: int, write: Write) -> None:
    text = "source,target,km\n" + "".join(f"a{row},b{row},{row}\n" for row in range(rows))
    assert columns(write({"edges.csv": text})) == {
        "source": [f"a{row}" for row in range(rows)],
        "target": [f"b{row}" for row in range(rows)],
        "km": [str(row) for row in range(rows)],
    }


def test_a_place_is_the_line_on_which_a_row_begins(write: Write) -> None:
    table = read_csv(write({"edges.csv": 'source,target\na,b\n\n"c\nd",e\nf,g\n'}) / "edges.csv", "edges")
    assert [table.place(row).rpartition(", ")[2] for row in range(3)] == ["line 2", "line 4", "line 6"]


def test_carriage_returns_alone_do_not_end_a_line(write: Write) -> None:
    with pytest.raises(InputError, match=r"edges\.csv, line 1 has a carriage return within.*line ends"):
        columns(write({"edges.csv": "source,target\ra,b\r"}))


# --- fuzz ---

ODD = ["001", "1", "1.0", "9007199254740993", "9007199254740992", "NA", "nan", "null", "-0", "1e5", "TRUE", "=1+1", "#"]
ids = st.one_of(
    st.sampled_from(ODD),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=8),
).filter(lambda name: name.strip() == name)


def written(rows: list[tuple[str, ...]]) -> bytes:
    file = io.StringIO(newline="")
    csv.writer(file).writerows(rows)
    return file.getvalue().encode()


@given(st.lists(ids, min_size=4, max_size=30, unique=True), st.data())
def test_no_id_is_changed_merged_or_lost(names: list[str], data: st.DataObject) -> None:
    pairs = data.draw(st.lists(st.tuples(st.sampled_from(names), st.sampled_from(names)), max_size=40))
    label = {name: str(number % 3) for number, name in enumerate(names)}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        (path / "nodes.csv").write_bytes(written([("id", "label"), *label.items()]))
        (path / "edges.csv").write_bytes(written([("source", "target"), *pairs]))
        dataset = own.read(path)
    assert dataset.ids == tuple(names)
    assert dataset.y is not None
    assert [dataset.classes[kind] for kind in dataset.y.tolist()] == list(label.values())
    there = dataset.graphs.edge_index[:, ::2].T.tolist()
    assert {frozenset((names[a], names[b])) for a, b in there} == {
        frozenset(pair) for pair in pairs if len(set(pair)) > 1
    }
    assert len(there) == len({frozenset(edge) for edge in there})


def read_or_refused(nodes: bytes | None, edges: bytes) -> None:
    """Either one printable error, or ids that are cells of the files."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        (path / "edges.csv").write_bytes(edges)
        if nodes is not None:
            (path / "nodes.csv").write_bytes(nodes)
        try:
            dataset = own.read(path, task="link" if nodes is None else None)
        except InputError as error:
            message: str | None = str(error)
        else:
            message = None
    if message is not None:
        assert message.isprintable()
        return
    text = (edges if nodes is None else nodes).decode("utf-8-sig")
    cells = {cell for row in csv.reader(io.StringIO(text, newline="")) for cell in row}
    named = dataset.node_ids if nodes is None else dataset.ids
    assert set(named) <= cells
    assert len(set(named)) == len(named)


@given(st.binary(max_size=200))
@example(b"source,target\n" + b"\xef\xbb\xbfa,b\n" * 5)
@example(b"source,target\na,b\xc2\x85\nc,d\ne,f\n")
def test_any_bytes_are_a_table_or_one_error(content: bytes) -> None:
    read_or_refused(None, content)
    read_or_refused(None, b"source,target\na,b\nb,c\nc,d\n" + content)
    read_or_refused(b"id,age,label\na,1,x\nb,2,y\nc,3,x\n" + content, b"source,target\na,b\n")


NODES = b'id,age,town,label,split\na,1,Rome,x,train\n"b,c",2,,y,valid\nd,3.5,Bonn,x,test\ne,,Rome,y,train\n'
EDGES = b'source,target,weight\na,"b,c",1\nd,e,2.5\n'


@given(
    st.integers(0, len(NODES) + len(EDGES) - 1), st.sampled_from([*b'\n\r",;\t\0 .-0a\xff\xc3', None]), st.booleans()
)
def test_any_slip_of_the_pen_is_data_or_one_error(at: int, byte: int | None, put_in: bool) -> None:
    whole = NODES + EDGES
    new = b"" if byte is None else bytes([byte])
    whole = whole[:at] + new + whole[at + (not put_in) :]
    nodes = whole[: len(NODES) + len(whole) - len(NODES + EDGES)] if at < len(NODES) else NODES
    read_or_refused(nodes, whole[len(nodes) :])
