"""GraphML, read as a stream by expat; a document type or an entity is refused before it can do anything."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from xml.parsers import expat

from engnn.data.own.attributed import Attributed, tables_of
from engnn.data.own.stream import opened
from engnn.data.own.table import Tables
from engnn.errors import InputError

AT_ONCE: Final = 1 << 16
MAX_DEPTH: Final = 64
REFUSED: Final = {"hyperedge": "hyperedges", "port": "ports"}
HOLDERS: Final = ("graph", "node", "edge")


def read_graphml(path: Path) -> Tables:
    """The tables in a GraphML file (`.graphml`, `.graphml.gz`); edges are taken as undirected, whatever it says."""
    reader = _Reader(path)
    try:
        with opened(path) as file:
            while data := file.read(AT_ONCE):
                reader.parser.Parse(data, False)
            reader.parser.Parse(b"", True)
    except expat.ExpatError as error:
        raise reader.error(
            f"{expat.ErrorString(error.code)}: the XML is damaged; mend it, or write it again"
        ) from error
    except (ValueError, LookupError) as error:
        if isinstance(error, InputError):
            raise
        raise reader.error(f"its encoding is not known ({error}): save it as UTF-8") from error
    if not reader.graphs:
        raise InputError(f"{path} has no <graph>: is it GraphML?")
    return tables_of(reader.graphs, str(path), lambda kind, graph, at: f"{path}, line {at}")


@dataclass
class _Holder:
    """An open <graph>, <node> or <edge>, and the values found in it."""

    tag: str
    line: int
    ids: tuple[str, ...]
    values: dict[str, object] = field(default_factory=dict)


class _Reader:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.graphs: list[Attributed] = []
        self.names: dict[str, str | None] = {}  # key -> its attr.name; None where it is a drawing program's own
        self.defaults: dict[str, dict[str, object]] = {tag: {} for tag in HOLDERS}
        self.open: list[str] = []
        self.holders: list[_Holder] = []
        self.key = ""
        self.of = ""
        self.text: list[str] | None = None
        self.parser = parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartDoctypeDeclHandler = self.doctype
        parser.EntityDeclHandler = self.doctype
        parser.StartElementHandler = self.start
        parser.EndElementHandler = self.end
        parser.CharacterDataHandler = self.characters

    def error(self, what: str) -> InputError:
        return InputError(f"{self.path}, line {self.parser.CurrentLineNumber}: {what}")

    def doctype(self, *_: object) -> None:
        raise self.error("it has a document type or an entity (DTD), which is never read: take the <!DOCTYPE …> out")

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if not self.open and tag != "graphml":
            raise self.error(f"the file begins with <{tag:.60}>, and GraphML begins with <graphml>")
        if len(self.open) == MAX_DEPTH:
            raise self.error(f"elements are nested more than {MAX_DEPTH} deep: is it GraphML?")
        if tag in REFUSED:
            raise self.error(f"<{tag}>: {REFUSED[tag]} are not supported; write plain edges")
        if self.text is not None and self.names.get(self.key) is not None:
            raise self.error(f"<{tag:.60}> within a value, where text is wanted: take it out")
        match tag:
            case "key":
                self.key, self.of = self.wanted(attributes, "id", tag), attributes.get("for", "all")
                if self.key in self.names:
                    raise self.error(f"key {self.key!r} is declared twice: take one out")
                self.names[self.key] = attributes.get("attr.name")
            case "graph":
                if self.holders:
                    raise self.error("a <graph> within a graph is not supported: write the graphs one after another")
                self.graphs.append(Attributed())
                self.hold(tag, attributes.get("id", ""))
            case "node":
                self.inside(tag)
                self.hold(tag, self.wanted(attributes, "id", tag))
            case "edge":
                self.inside(tag)
                self.hold(tag, self.wanted(attributes, "source", tag), self.wanted(attributes, "target", tag))
            case "data" if self.holders:
                self.key, self.text = self.wanted(attributes, "key", tag), []
                if self.key not in self.names:
                    raise self.error(f"<data key={self.key!r}>: no <key> declares it; declare it above the graph")
            case "default" if self.open[-1] == "key":
                self.text = []
        self.open.append(tag)

    def end(self, tag: str) -> None:
        self.open.pop()
        if tag in HOLDERS:
            self.finish(self.holders.pop())
        elif tag == "data" and self.text is not None and self.holders:
            name, values = self.names[self.key], self.holders[-1].values
            if name is not None and name in values:
                raise self.error(f"the {self.holders[-1].tag} has two values of {name!r}: take one out")
            if name is not None:
                values[name] = "".join(self.text)
            self.text = None
        elif tag == "default" and self.text is not None:
            name = self.names[self.key]
            for of in HOLDERS if name is not None else ():
                if self.of in (of, "all"):
                    self.defaults[of][str(name)] = "".join(self.text)
            self.text = None

    def characters(self, data: str) -> None:
        if self.text is not None:
            self.text.append(data)

    def hold(self, tag: str, *ids: str) -> None:
        self.holders.append(_Holder(tag, self.parser.CurrentLineNumber, ids))

    def finish(self, holder: _Holder) -> None:
        graph, values = self.graphs[-1], self.defaults[holder.tag] | holder.values
        if holder.tag == "node":
            graph.nodes.append((holder.ids[0], values, holder.line))
        elif holder.tag == "edge":
            graph.edges.append((holder.ids[0], holder.ids[1], values, holder.line))
        else:
            graph.name, graph.attributes = holder.ids[0], values

    def inside(self, tag: str) -> None:
        if len(self.holders) != 1:
            raise self.error(f"<{tag}> must be directly within a <graph>: move it there")

    def wanted(self, attributes: dict[str, str], name: str, tag: str) -> str:
        if name not in attributes:
            raise self.error(f"<{tag}> has no {name!r}: give one")
        return attributes[name]
