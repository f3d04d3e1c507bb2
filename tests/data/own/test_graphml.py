"""GraphML is read as NetworkX and expat read it, and never anything that it points to."""

from __future__ import annotations

import gzip
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from xml.etree import ElementTree
from xml.sax.saxutils import escape, quoteattr

import networkx as nx
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from engnn.data import own
from engnn.data.own.graphml import read_graphml
from engnn.errors import InputError

Write = Callable[[Mapping[str, str | bytes]], Path]

YED = """<?xml version="1.0" encoding="UTF-8" standalone="no"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns" xmlns:y="http://www.yworks.com/xml/graphml">
  <!-- as a drawing program writes it -->
  <key for="port" id="d0" yfiles.type="portgraphics"/>
  <key attr.name="label" attr.type="string" for="node" id="d4"><default xml:space="preserve">none</default></key>
  <key for="node" id="d6" yfiles.type="nodegraphics"/>
  <key attr.name="weight" attr.type="double" for="edge" id="d9"><default>2</default></key>
  <graph edgedefault="directed" id="G">
    <desc>not data</desc>
    <node id="n0">
      <data key="d4">one</data><data key="d6"><y:ShapeNode><y:NodeLabel>A</y:NodeLabel></y:ShapeNode></data>
    </node>
    <node id="n1"/>
    <node id="n2"><data key="d4"><![CDATA[a < b]]></data></node>
    <edge id="e0" source="n0" target="n1"><data key="d9">1.5</data></edge>
    <edge source="n1" target="n2"/>
  </graph>
  <data key="d7"><y:Resources/></data>
</graphml>
"""


def test_what_a_drawing_program_adds_is_left_out_and_defaults_are_filled_in(write: Write) -> None:
    tables = read_graphml(write({"g.graphml": YED}) / "g.graphml")
    assert tables["nodes"].columns == {"id": ["n0", "n1", "n2"], "label": ["one", "none", "a < b"]}
    assert tables["edges"].columns == {"source": ["n0", "n1"], "target": ["n1", "n2"], "weight": ["1.5", "2"]}


@pytest.mark.parametrize("encoding", ["UTF-8", "ISO-8859-1", "UTF-16"])
def test_the_encoding_is_the_one_that_is_declared(encoding: str, write: Write) -> None:
    text = f'<?xml version="1.0" encoding="{encoding}"?><graphml><graph><node id="café"/></graph></graphml>'
    tables = read_graphml(write({"g.graphml": text.encode(encoding)}) / "g.graphml")
    assert tables["nodes"].columns["id"] == ["café"]


def test_places_are_lines_of_the_file(write: Write) -> None:
    tables = read_graphml(write({"g.graphml": YED}) / "g.graphml")
    line = YED[: YED.index('<node id="n1"')].count("\n") + 1
    assert tables["nodes"].place(1).endswith(f"g.graphml, line {line}")
    assert tables["edges"].place(0).endswith(f"g.graphml, line {line + 2}")


@pytest.mark.parametrize(
    "graph",
    [
        nx.karate_club_graph(),
        nx.les_miserables_graph(),
        nx.florentine_families_graph(),
        nx.gnp_random_graph(40, 0.1, seed=1, directed=True),
    ],
)
@pytest.mark.parametrize("suffix", [".graphml", ".graphml.gz"])
def test_a_graph_that_networkx_wrote_has_its_nodes_and_edges(graph: nx.Graph, suffix: str, tmp_path: Path) -> None:
    nx.write_graphml(graph, tmp_path / f"g{suffix}")
    tables = read_graphml(tmp_path / f"g{suffix}")
    theirs = nx.read_graphml(tmp_path / f"g{suffix}")
    assert tables["nodes"].columns["id"] == list(theirs)
    ours = zip(tables["edges"].text("source"), tables["edges"].text("target"), strict=True)
    assert list(ours) == list(theirs.edges())
    assert {*tables["nodes"].features} == {key for _, values in theirs.nodes(data=True) for key in values}


def test_an_entity_is_not_looked_up_and_a_bomb_not_unpacked(write: Write) -> None:
    secret = write({"secret.txt": "do not tell"}) / "secret.txt"
    text = f'<!DOCTYPE g [<!ENTITY s SYSTEM "{secret.as_uri()}">]><graphml><graph><node id="&s;"/></graph></graphml>'
    with pytest.raises(InputError, match="DOCTYPE") as error:
        read_graphml(write({"g.graphml": text}) / "g.graphml")
    assert "tell" not in str(error.value)
    bomb = gzip.compress(b"<graphml>" + b"<!-- -->" * (16 << 20))
    with pytest.raises(InputError, match="67108864 bytes"):
        read_graphml(write({"g.graphml.gz": bomb}) / "g.graphml.gz")


# --- fuzz ---

# what XML can hold, without what it takes for white space at the ends
names = st.text(
    st.characters(min_codepoint=32, max_codepoint=0x2FFF, exclude_characters="\x7f"), min_size=1, max_size=8
).filter(lambda name: name.strip() == name)


@given(st.lists(names, min_size=4, max_size=20, unique=True), st.data())
def test_no_id_is_changed_merged_or_lost(ids: list[str], data: st.DataObject) -> None:
    pairs = data.draw(st.lists(st.tuples(st.sampled_from(ids), st.sampled_from(ids)), max_size=30))
    text = '<graphml><key id="k" for="node" attr.name="label"/><graph>'
    text += "".join(
        f"<node id={quoteattr(name)}><data key='k'>{escape('ab'[i % 2])}</data></node>" for i, name in enumerate(ids)
    )
    text += "".join(f"<edge source={quoteattr(a)} target={quoteattr(b)}/>" for a, b in pairs) + "</graph></graphml>"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "g.graphml"
        path.write_bytes(text.encode())
        dataset = own.read(path)
    assert dataset.ids == tuple(ids)
    there = {frozenset((ids[a], ids[b])) for a, b in dataset.graphs.edge_index.T.tolist()}
    assert there == {frozenset(pair) for pair in pairs if len(set(pair)) > 1}


def read_or_refused(content: bytes) -> None:
    """Either one printable error, or the ids that another XML reader finds."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "g.graphml"
        path.write_bytes(content)
        try:
            tables = read_graphml(path)
            dataset = own.read(path, task="node" if "label" in tables["nodes"].columns else "link")
        except InputError as error:
            message: str | None = str(error)
        else:
            message = None
    if message is not None:
        assert message.isprintable()
        return
    found = [element.get("id") for element in ElementTree.fromstring(content).iter() if element.tag.endswith("node")]
    assert list(dataset.ids or dataset.node_ids) == found


@given(st.binary(max_size=200))
@example(b"<graphml></graphml><graphml/>")
@example(b"<graphml><graph/></graphml>")
@example(b"<graphml><default>a</default><data/><graph><data key='k'/></graph></graphml>")
def test_any_bytes_are_a_graph_or_one_error(content: bytes) -> None:
    read_or_refused(content)
    read_or_refused(b"<graphml><graph>" + content + b"</graph></graphml>")


TAGS = st.sampled_from(
    [
        "graph",
        "node id='a'",
        "node id='b'",
        "edge source='a' target='b'",
        "key id='k' for='node' attr.name='label'",
        "key id='q'",
        "data key='k'",
        "data key='q'",
        "default",
        "desc",
    ]
)


@given(
    st.recursive(st.sampled_from(["", "a"]), lambda inner: st.tuples(TAGS, st.lists(inner, max_size=4)), max_leaves=8)
)
def test_any_nesting_of_its_elements_is_a_graph_or_one_error(tree: object) -> None:
    read_or_refused(f"<graphml>{rendered(tree)}</graphml>".encode())


def rendered(tree: object) -> str:
    if isinstance(tree, str):
        return tree
    tag, inner = tree  # type: ignore[misc]
    return f"<{tag}>{''.join(map(rendered, inner))}</{tag.split()[0]}>"


@given(st.integers(0, len(YED) - 1), st.sampled_from([*b"<>&\"'/=;\n\0 an0\xff", None]), st.booleans())
def test_any_slip_of_the_pen_is_a_graph_or_one_error(at: int, byte: int | None, put_in: bool) -> None:
    whole = YED.encode()
    read_or_refused(whole[:at] + (b"" if byte is None else bytes([byte])) + whole[at + (not put_in) :])
