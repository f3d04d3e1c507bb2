"""Graphs that are hard to tell apart: EXP and CSL, which colour refinement is blind to, and the pairs of BREC."""

from __future__ import annotations

from engnn.reproduce.brec import measured, page
from engnn.reproduce.table import Column, Row, Table, peers

KINDS = ("onehot+normal", "onehot", "normal")

TABLE = Table(
    name="expressivity",
    title="Expressivity",
    about="Accuracy in per cent on EXP (formulas, satisfiable or not: guessing gives 50) and CSL (ten classes: "
    "guessing gives 10); on BREC the share of the 400 pairs that are told apart.",
    rows=(
        Row(name="exp", settings={"data": "exp", "task": "graph"}, percent=True),
        Row(name="csl", settings={"data": "csl", "task": "graph"}, percent=True),
        Row(name="brec", settings={"data": "brec", "task": "graph"}, percent=True, measure=measured),
    ),
    columns=(
        *(Column(name=f"engnn-{kind}", settings={"model.noise": kind}) for kind in KINDS),
        Column(name="engnn-rotations", settings={"model.noise": "orthogonal", "model.symmetry": "orthogonal"}),
        Column(name="nmpnn", settings={"model.variant": "nmpnn"}),
        Column(name="mpnn", settings={"model.variant": "mpnn"}),
        *peers(gin="", id_gnn="", ngnn="", ppgn="", rgin=""),
        Column(name="dropgnn", settings={"model.name": "dropgnn", "model.noise_channels": 20}, late=True),
    ),
    seeds=3,
    more=page,
)
