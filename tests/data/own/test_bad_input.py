"""Every kind of bad input is one `InputError` that says where, what and how to mend it; quickly, writing nothing."""

from __future__ import annotations

import gzip
import io
import os
import pickle
import subprocess
import sys
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest

from engnn.cli import main
from engnn.data import own
from engnn.errors import InputError

Write = Callable[[Mapping[str, str | bytes]], Path]
Files = Mapping[str, str | bytes]

EDGES = "source,target\na,b\nb,c\nc,d\nd,e\n"
AB = "source,target\na,b\n"
NODES = "id,age,label\na,1,x\nb,2,y\nc,3,x\nd,4,y\ne,5,x\n"
GRAPHS = "graph,label\n" + "".join(f"g{i},{i % 2}\n" for i in range(4))
IN_GRAPHS = "id,graph\n" + "".join(f"{i}a,g{i}\n{i}b,g{i}\n" for i in range(4))
EDGES_IN_GRAPHS = "source,target\n" + "".join(f"{i}a,{i}b\n" for i in range(4))
COMPLETE = "source,target\n" + "".join(f"{a},{b}\n" for a in range(5) for b in range(a))


def folder(edges: str | bytes = EDGES, nodes: str | bytes | None = NODES, **more: str | bytes) -> Files:
    files = {"edges.csv": edges} | ({} if nodes is None else {"nodes.csv": nodes})
    return files | {f"{name}.csv": text for name, text in more.items()}


def graphs(edges: str = EDGES_IN_GRAPHS, nodes: str = IN_GRAPHS, graphs: str = GRAPHS) -> Files:
    return folder(edges, nodes, graphs=graphs)


def links(text: str, edges: str = EDGES) -> Files:
    return folder(edges, "id\n" + "".join(f"{i}\n" for i in "abcdefgh"), links=text)


def subgraphs(text: str) -> Files:
    return folder(EDGES, "id\na\nb\nc\nd\ne\n", subgraphs=text)


# what it is: (the files, what is read of them, the words of the message)
TABLES: dict[str, tuple[Files, list[str]]] = {
    "blank id in nodes": (folder(nodes=NODES + ",6,x\n"), ["nodes.csv, line 7", "id ''", "blank"]),
    "blank id in edges": (folder(EDGES + "a,\n"), ["edges.csv, line 6", "target is blank"]),
    "blank id in edges alone": (folder(EDGES + "a,\n", None), ["edges.csv, line 6", "target ''", "blank"]),
    "id with a space at its end": (folder(EDGES + "a ,b\n", None), ["edges.csv, line 6", "'a '", "white space"]),
    "id twice": (folder(nodes=NODES + "a,6,x\n"), ["nodes.csv, line 7", "'a'", "nodes.csv, line 2"]),
    "id twice, in two graphs": (
        graphs(nodes=IN_GRAPHS + "0a,g1\n"),
        ["nodes.csv, line 10", "'0a'", "line 2", "edges.csv a column 'graph'"],
    ),
    "node not listed": (folder(EDGES + "a,q\n"), ["edges.csv, line 6", "target 'q'", "nodes.csv", "add it"]),
    "node with leading zeros": (
        folder("source,target\n001,2\n", "id,label\n1,x\n2,y\n"),
        ["edges.csv, line 2", "'001'", "did you mean '1'", "text"],
    ),
    "node turned into a float": (
        folder("source,target\n1.0,2\n", "id,label\n1,x\n2,y\n"),
        ["'1.0'", "did you mean '1'"],
    ),
    "edge across graphs": (
        graphs(EDGES_IN_GRAPHS + "0a,1b\n"),
        ["edges.csv, line 6", "'0a' of graph 'g0'", "'1b' of graph 'g1'"],
    ),
    "graph not listed": (graphs(nodes=IN_GRAPHS + "9,g9\n"), ["nodes.csv, line 10", "'g9'", "graphs.csv"]),
    "graph without nodes": (graphs(graphs=GRAPHS + "g9,1\n"), ["graphs.csv, line 6", "'g9'", "no nodes"]),
    "graph twice": (graphs(graphs=GRAPHS + "g0,1\n"), ["graphs.csv, line 6", "'g0'", "line 2"]),
    "blank graph": (graphs(nodes=IN_GRAPHS + "9,\n"), ["nodes.csv, line 10", "graph ''", "blank"]),
    "graphs without a node table": (folder(nodes=None, graphs=GRAPHS), ["edges.csv", "nodes.csv", "graph"]),
    "nodes do not say their graph": (folder(graphs=GRAPHS), ["nodes.csv", "no column 'graph'", "4 graphs"]),
    "nodes without rows": (folder("source,target\n", "id,label\n"), ["nodes.csv", "no nodes"]),
    "edges without rows, alone": (folder("source,target\n", None), ["edges.csv", "no nodes"]),
    "short row": (folder(EDGES + "a\n"), ["edges.csv, line 6", "1 fields", "2", "['a']"]),
    "long row": (folder(EDGES + "a,b,c\n"), ["edges.csv, line 6", "3 fields", "quotes"]),
    "short row after a field of two lines": (
        folder('source,target\n"a\nb",c\nd\n', None),
        ["edges.csv, line 4", "1 fields"],
    ),
    "semicolons": (folder("source;target\na;b\n"), ["edges.csv, line 1", "semicolons", "commas"]),
    "tabs": (folder("source\ttarget\na\tb\n"), ["edges.csv, line 1", "tabs", "commas"]),
    "no header": (folder("a,b\nc,d\n"), ["edges.csv", "'source'", "first line"]),
    "blank first line": (folder("\n" + EDGES), ["edges.csv, line 1", "blank"]),
    "column twice": (folder("source,target,km,km\na,b,1,1\n"), ["edges.csv", "'km'", "rename"]),
    "column without a name": (folder(nodes=",id,label\n0,a,x\n"), ["nodes.csv", "column 1", "index=False"]),
    "column in capitals": (folder(nodes=NODES.replace("label", "Label")), ["nodes.csv", "'Label'", "mean 'label'"]),
    "column in the plural": (folder(nodes=NODES.replace("label", "labels")), ["'labels'", "mean 'label'"]),
    "source misspelt": (folder("sorce,target\na,b\n"), ["edges.csv", "'source'", "mean 'sorce'"]),
    "label on edges": (folder("source,target,label\na,b,1\n"), ["edges.csv", "'label'", "links.csv"]),
    "unknown column of links": (links("source,target,lable\na,c,1\n"), ["links.csv", "'lable'", "mean 'label'"]),
    "Latin-1": (folder(nodes=NODES.replace("x", "é").encode("latin-1")), ["nodes.csv, line 2", "0xe9", "UTF-8"]),
    "UTF-16": (folder(EDGES.encode("utf-16")), ["edges.csv, line 1", "UTF-16", "UTF-8"]),
    "NUL": (folder(EDGES + "a\0,b\n"), ["edges.csv, line 6", "NUL"]),
    "quote left open": (folder(EDGES + 'a,"b\nc,d\n'), ["edges.csv, line 7", "quotes"]),
    "text after a quote": (folder(EDGES + 'a,"b"c\n'), ["edges.csv, line 6", "quotes"]),
    "line without end": (folder(b"source,target\n" + b"a" * (17 << 20)), ["edges.csv, line 2", "longer"]),
    "field too long": (folder(EDGES + "a" * 200_000 + ",b\n"), ["edges.csv, line 6", "field larger"]),
    "empty file": (folder(b""), ["edges.csv", "empty"]),
    "missing weight": (folder("source,target,weight\na,b,1\nb,c,\n"), ["edges.csv, line 3", "weight", "missing"]),
    "negative weight": (folder("source,target,weight\na,b,1\nb,c,-2\n"), ["edges.csv, line 3", "-2", "negative"]),
    "weight of text": (folder("source,target,weight\na,b,heavy\n"), ["edges.csv, line 2", "'heavy'", "number"]),
    "weight nan": (folder("source,target,weight\na,b,nan\n"), ["edges.csv, line 2", "'nan'", "finite"]),
    "weight of 1e38": (folder("source,target,weight\na,b,1e38\n"), ["edges.csv, line 2", "1e+38", "unit"]),
    "feature nan": (folder(nodes=NODES.replace("3", "nan")), ["nodes.csv, line 4", "age 'nan'", "blank"]),
    "feature inf": (folder(nodes=NODES.replace("3", "inf")), ["nodes.csv, line 4", "age 'inf'"]),
    "feature NA": (folder(nodes=NODES.replace("3", "NA")), ["nodes.csv, line 4", "age 'NA'", "age:category"]),
    "feature of 1e38": (folder(nodes=NODES.replace("3", "1e38")), ["nodes.csv, line 4", "age 1e+38", "logarithm"]),
    "feature with an underscore": (folder(nodes=NODES.replace("3", "1_0")), ["nodes.csv, line 4", "'1_0'"]),
    "decimal commas": (
        folder(AB, 'id,age,label\na,"1,5",x\nb,"2,5",y\nc,"3,5",y\n'),
        ["nodes.csv, line 2", "'1,5'", "decimal comma", "point"],
    ),
    "forced number that is none": (
        folder(AB, "id,age:number,label\na,young,x\nb,old,y\nc,old,y\n"),
        ["nodes.csv, line 2", "'young'", "number"],
    ),
    "text that differs on every row": (
        folder("source,target\n0,1\n", "id,name,label\n" + "".join(f"{i},name {i},x\n" for i in range(2000))),
        ["nodes.csv, line 2", "'name'", "different values", "1000"],
    ),
    "split misspelt": (
        folder(AB, "id,label,split\na,x,train\nb,x,tets\n"),
        ["nodes.csv, line 3", "'tets'", "mean 'test'"],
    ),
    "split without validation": (
        folder(nodes="id,label,split\na,x,train\nb,x,test\nc,y,test\nd,x,\ne,x,\n"),
        ["nodes.csv", "'valid'", "leave the whole column out"],
    ),
    "split whose test has no labels": (
        folder(nodes="id,label,split\na,x,train\nb,x,valid\nc,,test\nd,x,\ne,x,\n"),
        ["nodes.csv", "'test'"],
    ),
    "two labels": (
        folder(nodes="id,label\na,x\nb,y\nc,\nd,\ne,\n"),
        ["nodes.csv", "2 targets", "at least 3"],
    ),
    "one node": (folder("source,target\n", "id,label\na,x\n"), ["nodes.csv", "1 targets", "at least 3"]),
    "no labels in the column": (folder(nodes="id,label\na,\nb,\nc,\nd,\ne,\n"), ["nodes.csv", "'label'", "blank"]),
    "label -100": (folder(nodes=NODES.replace("x", "-100").replace("y", "1")), ["nodes.csv, line 2", "-100", "blank"]),
    "label -1 among others": (
        folder(nodes=NODES.replace("x", "-1").replace("y", "2")),
        ["nodes.csv, line 2", "-1", "label:category"],
    ),
    "label 1 and 1.0": (
        folder(nodes="id,label\na,1\nb,1.0\nc,2\nd,2\ne,2\n"),
        ["nodes.csv, line 3", "'1' and '1.0'", "same number"],
    ),
    "label NA among numbers": (
        folder(nodes="id,label\na,1\nb,2\nc,2\nd,1\ne,NA\n"),
        ["nodes.csv, line 6", "label 'NA'", "blank"],
    ),
    "label nan": (folder(nodes="id,label\na,1.5\nb,2\nc,2\nd,1\ne,nan\n"), ["nodes.csv, line 6", "'nan'"]),
    "labels that are all different": (
        folder("source,target\n0,1\n", "id,label\n" + "".join(f"{i},{i * i}\n" for i in range(30))),
        ["nodes.csv", "30 classes", "label:number"],
    ),
    "nothing to learn": (folder(nodes="id,age\na,1\nb,2\nc,3\nd,4\ne,5\n"), ["'label'", "links.csv", "task 'link'"]),
    "two things to learn": (
        graphs(
            nodes=IN_GRAPHS.replace("graph\n", "graph,label\n")
            .replace("g0\n", "g0,1\n")
            .replace("g1\n", "g1,1\n")
            .replace("g2\n", "g2,0\n")
            .replace("g3\n", "g3,0\n")
        ),
        ["several tasks", "'node' or 'graph'"],
    ),
    "links among several graphs": (
        graphs(graphs="graph\ng0\ng1\ng2\ng3\n") | {"links.csv": "source,target\n0a,0b\n"},
        ["'link'", "one graph", "4"],
    ),
    "two graphs to learn from": (
        graphs("source,target\n0a,0b\n", "id,graph\n0a,g0\n0b,g0\n1a,g1\n", "graph,label\ng0,1\ng1,0\n"),
        ["graphs.csv", "2 targets", "at least 3"],
    ),
    "link of an unknown node": (links("source,target\na,z\n"), ["links.csv, line 2", "'z'", "nodes.csv"]),
    "link with itself": (links("source,target\na,a\n"), ["links.csv, line 2", "'a'", "itself"]),
    "link label 2": (links("source,target,label\na,c,2\n"), ["links.csv, line 2", "'2'", "1 (a link) or 0"]),
    "link label blank": (links("source,target,label\na,c,\n"), ["links.csv, line 2", "''"]),
    "link with two labels": (
        links("source,target,label\na,c,1\nc,a,0\n"),
        ["links.csv, line 3", "links.csv, line 2", "no direction"],
    ),
    "link in two parts": (
        links("source,target,split\na,c,test\nc,a,train\n"),
        ["links.csv, line 3", "links.csv, line 2", "split"],
    ),
    "no link that is one": (
        links("source,target,label\na,b,0\na,c,1\n"),
        ["links.csv, line 2", "'a' and 'b'", "edges.csv has one"],
    ),
    "link without a part": (links("source,target,split\na,c,test\na,d,\n"), ["links.csv, line 3", "split is blank"]),
    "links without a test": (
        links("source,target,split\na,c,valid\na,d,train\n"),
        ["links.csv", "'test'", "each part needs one"],
    ),
    "two links": (links("source,target\na,c\nb,d\n"), ["links.csv", "2 targets", "at least 3"]),
    "subgraph of an unknown node": (subgraphs("id,nodes,label\ns,a q,x\n"), ["subgraphs.csv, line 2", "'q'"]),
    "subgraph of nodes with commas": (subgraphs('id,nodes,label\ns,"a,b",x\n'), ["subgraphs.csv, line 2", "'a,b'"]),
    "subgraph without nodes": (subgraphs("id,nodes,label\ns,,x\n"), ["subgraphs.csv, line 2", "'s'", "no nodes"]),
    "subgraph twice": (subgraphs("id,nodes,label\ns,a,x\ns,b,x\n"), ["subgraphs.csv, line 3", "'s'", "line 2"]),
    "subgraphs without labels": (subgraphs("id,nodes\ns,a\n"), ["subgraphs.csv", "'label'"]),
    "file under a near name": ({"edge.csv": EDGES}, ["edge.csv", "mean edges.csv"]),
    "node table under a near name": (folder(nodes=None) | {"Nodes.csv": NODES}, ["Nodes.csv", "mean nodes.csv"]),
    "no edges": ({"readme.txt": "see the other folder"}, ["edges.csv", "readme.txt", "source,target"]),
    "a folder in place of a file": ({"edges.csv/x.txt": "a"}, ["edges.csv", "is a folder"]),
    "the same table twice": (folder() | {"edges.parquet": b"PAR1"}, ["edges.csv and edges.parquet", "one of them"]),
    "not Parquet": ({"edges.parquet": b"PAR1 and no more"}, ["edges.parquet", "Parquet"]),
    "not gzip": ({"edges.csv.gz": EDGES}, ["edges.csv.gz", "damaged"]),
    "gzip cut off": ({"edges.csv.gz": gzip.compress(EDGES.encode())[:-12]}, ["edges.csv.gz", "damaged"]),
}

NODE = '{"id": "a"}, {"id": "b"}, {"id": "c"}'
GRAPHML = '<graphml><key id="k" for="node" attr.name="label"/><graph edgedefault="directed">{}</graph></graphml>'
BOMB = '<!DOCTYPE g [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>'


def json_with(nodes: str = NODE, edges: str = "", more: str = "") -> str:
    return f'{{"nodes": [{nodes}], "edges": [{edges}]{more}}}'


SINGLE: dict[str, tuple[str, str | bytes, list[str]]] = {
    "JSON cut off": ("g.json", '{"nodes": [', ["g.json", "not sound JSON", "line 1 column"]),
    "JSON key twice": ("g.json", '{"nodes": [{"id": "a", "id": "b"}], "edges": []}', ["'id'", "twice"]),
    "JSON NaN": ("g.json", json_with('{"id": "a", "age": NaN}'), ["NaN", "null"]),
    "JSON 1e999": ("g.json", json_with('{"id": "a", "age": 1e999}'), ["1e999", "too large"]),
    "JSON nested": ("g.json", "[" * 200_000, ["g.json", "nested"]),
    "JSON not UTF-8": ("g.json", b'{"nodes": "\xe9"}', ["g.json", "UTF-8"]),
    "JSON of another kind": ("g.json", '{"vertices": []}', ["g.json", "'vertices'"]),
    "JSON text": ("g.json", '"abc"', ["g.json", "not an object"]),
    "JSON empty list": ("g.json", "[]", ["g.json", "empty list"]),
    "JSON without edges": ("g.json", '{"nodes": []}', ["g.json", "'edges'"]),
    "JSON with edges and links": ("g.json", json_with(more=', "links": []'), ["both", "links"]),
    "JSON id null": ("g.json", json_with('{"id": null}'), ["nodes[0]", "'id'", "null"]),
    "JSON id float": ("g.json", json_with('{"id": 1.0}'), ["nodes[0]", "1.0", "whole number"]),
    "JSON ids 1 and '1'": ("g.json", json_with('{"id": 1}, {"id": "1"}'), ["nodes[1]", "'1'", "nodes[0]"]),
    "JSON unknown node": ("g.json", json_with(edges='{"source": "a", "target": "q"}'), ["edges[0]", "'q'"]),
    "JSON edge of text": ("g.json", json_with(edges='"ab"'), ["edges[0]", "not an object"]),
    "JSON value of a list": ("g.json", json_with('{"id": "a", "at": [1, 2]}'), ["nodes[0]", "'at'", "list"]),
    "JSON half a character": ("g.json", json_with('{"id": "\\ud800"}'), ["nodes[0]", "surrogate"]),
    "JSON NUL in an id": ("g.json", json_with('{"id": "a\\u0000"}'), ["nodes[0]", "NUL"]),
    "JSON no nodes": ("g.json", json_with(""), ["g.json", "no nodes"]),
    "JSON huge integer": ("g.json", json_with('{"id": ' + "9" * 5000 + "}"), ["g.json", "JSON"]),
    "GraphML with a document type": ("g.graphml", BOMB + GRAPHML.format(""), ["g.graphml, line 1", "DOCTYPE"]),
    "GraphML with a DTD from outside": (
        "g.graphml",
        '<?xml version="1.0"?>\n<!DOCTYPE graphml SYSTEM "file:///etc/passwd">' + GRAPHML.format(""),
        ["g.graphml, line 2", "DTD"],
    ),
    "GraphML with an undeclared entity": ("g.graphml", GRAPHML.format('<node id="&a;"/>'), ["line 1", "entity"]),
    "GraphML cut off": ("g.graphml", GRAPHML.format("\n<node")[:-20], ["g.graphml, line 2", "damaged"]),
    "GraphML of something else": ("g.graphml", "<html/>", ["<html>", "GraphML"]),
    "GraphML without a graph": ("g.graphml", "<graphml/>", ["no <graph>"]),
    "GraphML node without id": ("g.graphml", GRAPHML.format("\n<node/>"), ["line 2", "<node>", "'id'"]),
    "GraphML edge without target": ("g.graphml", GRAPHML.format('\n<edge source="a"/>'), ["line 2", "'target'"]),
    "GraphML hyperedge": ("g.graphml", GRAPHML.format("<hyperedge/>"), ["hyperedges"]),
    "GraphML graph within a node": ("g.graphml", GRAPHML.format('<node id="a"><graph/></node>'), ["within a graph"]),
    "GraphML undeclared key": (
        "g.graphml",
        GRAPHML.format('<node id="a"><data key="q">1</data></node>'),
        ["'q'", "declare"],
    ),
    "GraphML value twice": (
        "g.graphml",
        GRAPHML.format('<node id="a"><data key="k">1</data><data key="k">2</data></node>'),
        ["two values", "'label'"],
    ),
    "GraphML unknown node": (
        "g.graphml",
        GRAPHML.format('<node id="a"/>\n<edge source="a" target="q"/>'),
        ["g.graphml, line 2", "target 'q'"],
    ),
    "GraphML id twice": ("g.graphml", GRAPHML.format('<node id="a"/>\n<node id="a"/>'), ["line 2", "line 1", "'a'"]),
    "GraphML nested": ("g.graphml", "<graphml>" + "<a>" * 1000, ["nested", "64"]),
    "GraphML unknown encoding": ("g.graphml", '<?xml version="1.0" encoding="klingon"?><graphml/>', ["encoding"]),
    "GraphML gzip bomb": (
        "g.graphml.gz",
        gzip.compress(b"<graphml>" + b" " * (100 << 20)),
        ["g.graphml.gz", "67108864 bytes"],
    ),
    "JSON gzip bomb": ("g.json.gz", gzip.compress(b" " * (100 << 20)), ["g.json.gz", "67108864 bytes"]),
    "a pickle": ("g.pkl", pickle.dumps([1]), ["g.pkl", "pickled", ".npz"]),
    "a checkpoint": ("g.pt", b"PK", ["g.pt", "pickled", "from_pyg"]),
    "an archive": ("g.zip", b"PK", ["g.zip", "archive", "unpack"]),
    "one table": ("edges.csv", EDGES, ["edges.csv", "give its folder"]),
    "another format": ("g.gml", "graph [", ["g.gml", ".graphml"]),
    "npz that is none": ("g.npz", b"hello", ["g.npz", "numpy.savez"]),
    "empty npz": ("g.npz", b"", ["g.npz", "empty"]),
}


def packed(**members: object) -> bytes:
    file = io.BytesIO()
    np.savez(file, **{name: np.asarray(value) for name, value in members.items()})
    return file.getvalue()


def zipped(members: Mapping[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return file.getvalue()


RING = np.array([[0, 1, 2, 3, 4], [1, 2, 3, 4, 0]])
LIE = (
    b"\x93NUMPY\x01\x00v\x00"
    + b"{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999,), }".ljust(117)
    + b"\n"
)
ARRAYS: dict[str, tuple[bytes, list[str]]] = {
    "no edge_index": (packed(x=np.eye(5)), ["g.npz", "edge_index"]),
    "unknown array": (packed(edge_index=RING, features=np.eye(5)), ["'features'", "known"]),
    "float edge_index": (packed(edge_index=RING * 1.0, num_nodes=5), ["edge_index", "float64", "integers"]),
    "edge_index of another shape": (packed(edge_index=RING.T, num_nodes=5), ["edge_index", "(5, 2)"]),
    "edge out of range": (packed(edge_index=RING, num_nodes=4), ["edge 3", "[3, 4]", "0 to 3"]),
    "negative edge": (packed(edge_index=RING - 1, num_nodes=5), ["edge 0", "[-1, 0]"]),
    "nodes not counted": (packed(edge_index=RING), ["how many nodes", "num_nodes"]),
    "no nodes": (packed(edge_index=RING[:, :0], num_nodes=0), ["no nodes"]),
    "x too short": (packed(edge_index=RING, num_nodes=5, x=np.eye(4)), ["x has the shape (4, 4)", "5 nodes"]),
    "x nan": (packed(edge_index=RING, x=np.full((5, 2), np.nan)), ["x[0, 0] is nan", "mend"]),
    "x of 1e38": (packed(edge_index=RING, x=np.full((5, 2), 1e38)), ["x[0, 0]", "1e+38", "scale"]),
    "x of text": (packed(edge_index=RING, x=np.full((5, 2), "a")), ["x is of type <U1", "numbers"]),
    "y too short": (packed(edge_index=RING, num_nodes=5, y=[0, 1]), ["y has the shape (2,)", "5 nodes"]),
    "y inf": (packed(edge_index=RING, num_nodes=5, y=[0, 1, 2, 3, np.inf]), ["y[4] is inf"]),
    "y -100": (packed(edge_index=RING, num_nodes=5, y=[0, 1, 0, 1, -100]), ["node 4", "-100", "masks"]),
    "yes/no of 2": (
        packed(edge_index=RING, num_nodes=5, y=np.full((5, 2), 2)),
        ["node 0", "[2, 2]", "0 or 1"],
    ),
    "mask too short": (
        packed(edge_index=RING, num_nodes=5, y=[0, 1, 0, 1, 0], train_mask=[True]),
        ["train_mask", "(1,)", "5 nodes"],
    ),
    "mask of numbers": (
        packed(edge_index=RING, num_nodes=5, y=[0, 1, 0, 1, 0], train_mask=[0, 1, 2, 3, 4]),
        ["train_mask", "int64", "true or false"],
    ),
    "masks that overlap": (
        packed(edge_index=RING, num_nodes=5, y=[0, 1, 0, 1, 0], train_mask=[True] * 5, test_mask=[True] * 5),
        ["node 0", "train and test"],
    ),
    "edge_weight too short": (packed(edge_index=RING, num_nodes=5, edge_weight=[1.0]), ["edge_weight", "5 edges"]),
    "negative edge_weight": (
        packed(edge_index=RING, num_nodes=5, edge_weight=[1, 1, -1, 1, 1]),
        ["edge_weight[2]", "-1", "negative"],
    ),
    "edge_attr too long": (packed(edge_index=RING, num_nodes=5, edge_attr=np.ones((6, 1))), ["edge_attr", "(6, 1)"]),
    "ids twice": (packed(edge_index=RING, ids=list("abcda"), y=[0, 1, 0, 1, 0]), ["node 4", "'a'", "node 0"]),
    "pickled objects": (
        zipped(
            {
                "edge_index.npy": b"\x93NUMPY\x01\x00v\x00"
                + b"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }".ljust(117)
                + b"\n"
                + pickle.dumps(1)
            }
        ),
        ["edge_index", "pickled"],
    ),
    "a shape that lies": (zipped({"edge_index.npy": LIE}), ["edge_index", "99999999999", "0 bytes"]),
    "not an array": (zipped({"edge_index.npy": b"abc"}), ["edge_index", "not an array"]),
    "a name that leads outside": (zipped({"../edge_index.npy": b"abc"}), ["g.npz", "outside"]),
    "zip bomb": (zipped({"x.npy": bytes(100 << 20)}), ["g.npz", "larger"]),
    "a sparse matrix": (packed(indptr=[0], indices=[0], data=[0]), ["sparse matrix", "from_scipy"]),
}


# (the files, the task that is asked for, the words of the message)
ASKED: dict[str, tuple[Files, str, list[str]]] = {
    "two edges to be split": (
        folder(EDGES[: EDGES.index("c,d")], None),
        "link",
        ["edges.csv", "2 edges", "at least 3"],
    ),
    "self-loops only": (
        folder("source,target\na,a\nb,b\nc,c\nd,d\n", None),
        "link",
        ["edges.csv", "0 edges", "at least 3"],
    ),
    "no pair without an edge": (folder(COMPLETE, None), "link", ["edges.csv", "complete", "fewer negatives"]),
    "no labels for the task": (
        folder(nodes="id,age\na,1\nb,2\nc,3\nd,4\ne,5\n"),
        "node",
        ["nodes.csv", "'label'", "age"],
    ),
    "no graphs for the task": (folder(), "graph", ["'label' in graphs", "not there"]),
    "no subgraphs for the task": (folder(), "subgraph", ["'label' in subgraphs", "not there"]),
    "task misspelt": (folder(), "nodes", ["'nodes'", "mean 'node'"]),
}


def assert_refused(
    path: Path, words: list[str], cache: Path, capsys: pytest.CaptureFixture[str], task: str | None = None
) -> None:
    """In Python an `InputError`; on the command line its message alone and exit code 2; nothing is written."""
    before = {file: file.read_bytes() for file in path.parent.rglob("*") if file.is_file()}
    with pytest.raises(InputError) as raised:
        own.read(path, task=task)  # type: ignore[arg-type]
    message = str(raised.value)
    assert [word for word in words if word not in message] == [], message
    assert message.isprintable()
    assert main(["data", "check", str(path), "--json", *(["--task", task] if task else [])]) == 2
    assert capsys.readouterr() == ("", f"engnn: {message}\n")
    assert {file: file.read_bytes() for file in path.parent.rglob("*") if file.is_file()} == before
    assert not cache.exists()


@pytest.mark.parametrize("case", TABLES)
def test_a_folder_is_refused_by_a_message_that_says_where(
    case: str, write: Write, cache_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files, words = TABLES[case]
    folder = write({f"mine/{name}": text for name, text in files.items()}) / "mine"
    assert_refused(folder, [str(folder), *words], cache_folder, capsys)


@pytest.mark.parametrize("case", SINGLE)
def test_a_file_is_refused_by_a_message_that_says_where(
    case: str, write: Write, cache_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name, content, words = SINGLE[case]
    path = write({name: content}) / name
    assert_refused(path, [str(path), *words], cache_folder, capsys)


@pytest.mark.parametrize("case", ARRAYS)
def test_arrays_are_refused_by_a_message_that_says_where(
    case: str, write: Write, cache_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content, words = ARRAYS[case]
    path = write({"g.npz": content}) / "g.npz"
    assert_refused(path, [str(path), *words], cache_folder, capsys)


@pytest.mark.parametrize("case", ASKED)
def test_what_cannot_be_done_with_the_files_is_refused(
    case: str, write: Write, cache_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files, task, words = ASKED[case]
    folder = write({f"mine/{name}": text for name, text in files.items()}) / "mine"
    assert_refused(folder, words, cache_folder, capsys, task)


@pytest.mark.parametrize("name", ["absent", "absent/edges.csv"])
def test_what_is_not_there_is_told(
    name: str, tmp_path: Path, cache_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert_refused(tmp_path / name, [], cache_folder, capsys)


def test_a_path_that_no_system_knows_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not there"):
        own.read(tmp_path / "a\0b")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with a name")
@pytest.mark.parametrize("name", ["edges.csv", "g.graphml", "g.json", "g.npz"])
def test_a_pipe_is_not_waited_for(
    name: str, tmp_path: Path, cache_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine").mkdir()
    os.mkfifo(tmp_path / "mine" / name)
    path = tmp_path / "mine" if name == "edges.csv" else tmp_path / "mine" / name
    assert_refused(path, [name, "neither a file nor a folder"], cache_folder, capsys)


def test_a_process_of_its_own_says_one_line_and_exits_with_2(write: Write, tmp_path: Path) -> None:
    path = write({"mine/edges.csv": EDGES + "a\n"}) / "mine"
    command = [sys.executable, "-m", "engnn", "data", "check", str(path)]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == (
        f"engnn: {path / 'edges.csv'}, line 6 has 1 fields, and the header has 2: mend the line ['a'] "
        "(a field with a comma in it needs double quotes around it)\n"
    )
    assert [file.name for file in tmp_path.rglob("*")] == ["mine", "edges.csv"]
