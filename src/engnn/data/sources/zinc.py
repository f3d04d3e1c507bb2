"""ZINC: molecules whose penalised logP is to be told from their heavy atoms and bonds.

`zinc-full` is the 249,455 molecules that can be had of the official 249,456, rebuilt from their SMILES. `zinc` is
twelve thousand: the official valid and test graphs and, as the official list of the training molecules could not be
had, ten thousand others drawn from the same training molecules.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch

from engnn.data.dataset import PARTS, Dataset, Graphs, Provenance
from engnn.data.source import Arrays, File, Request, Source
from engnn.data.undirected import undirected

TRAIN = File(
    "graph/zinc/zinc12k_train_SUBSTITUTE.npz", "0a9c279a7861a30f52da133f4dec8706d23221ef3da8d843a3ae05ebaecd24b0"
)
VALID = File("graph/zinc/zinc12k_val_official.npz", "fb2af9f988b2cd4fa6626d527d87968f266884d9dbbc03cda97c591877bee849")
TEST = File("graph/zinc/zinc12k_test_official.npz", "ca3572b6bb01b805c69dae7a35e2196c3360b4664e5a24809b28fe1d57466a8b")
FULL = File("graph/zinc/zinc_full_rebuilt.npz", "4da0bdce664e842a970b678085d0e4bebea96aedcd95d293e4c3f8edb0dc82b0")
ATOMS = 28  # an element with its charge and its written hydrogens
BONDS = 3  # single, double, triple: aromatic rings are written in Kekulé form
ARRAYS = ("num_nodes", "num_bonds", "atom", "bonds", "bond_type", "y")


def _arrays(path: Path) -> Arrays:
    with np.load(path) as raw:
        return {name: raw[name] for name in ARRAYS}


def _graphs(arrays: Arrays) -> Graphs:
    return undirected(
        arrays["num_nodes"],
        arrays["num_bonds"],
        arrays["bonds"].T,
        x=arrays["atom"][:, None],
        x_levels=(ATOMS,),
        edge_attr=arrays["bond_type"][:, None] - np.uint8(1),
        edge_levels=(BONDS,),
    )


def _dataset(name: str, provenance: Provenance, arrays: Arrays, part: np.ndarray[Any, Any], *notes: str) -> Dataset:
    return Dataset(
        name=name,
        task="graph",
        metric="mae",
        provenance=provenance,
        graphs=_graphs(arrays),
        y=torch.from_numpy(arrays["y"][:, None]),
        split={name: torch.from_numpy(np.flatnonzero(part == place)) for place, name in enumerate(PARTS)},
        split_name="fixed",
        outputs=("penalised logP",),
        notes=notes,
    )


def _subset(request: Request) -> Dataset:
    parts = [_arrays(request.file(file.path)) for file in (TRAIN, VALID, TEST)]
    return _dataset(
        "zinc",
        "substitute",
        {name: np.concatenate([arrays[name] for arrays in parts]) for name in ARRAYS},
        np.repeat(np.arange(len(parts)), [len(arrays["y"]) for arrays in parts]),
        "THE TRAINING SET IS A SUBSTITUTE: 10,000 molecules drawn from ZINC's 220,010 training molecules, not the "
        "official 10,000, whose list could not be had; scores cannot be compared with published ones to the last digit",
        "the valid and test graphs are the official ones; their Kekulé forms were written by an older RDKit than the "
        "training graphs'",
    )


def _full(request: Request) -> Dataset:
    with np.load(request.file(FULL.path)) as raw:
        arrays, part = {name: raw[name] for name in ARRAYS}, raw["split"]
    return _dataset(
        "zinc-full",
        "rebuilt",
        arrays,
        part,
        "graphs and targets are computed anew from the SMILES; one of the official training molecules is absent",
        "of the 2,000 official graphs that are known 1,309 are the same; the rest differ only in the Kekulé form",
    )


SOURCES = (
    Source(
        name="zinc",
        tasks=("graph",),
        splits=("fixed",),
        metric={"graph": "mae"},
        provenance="substitute",
        load=_subset,
        files=(TRAIN, VALID, TEST),
        licence="MIT (benchmarking-gnns)",
        source="ZINC, as kept by benchmarking-gnns and PyG; training set drawn anew",
        summary="12,000 molecules, penalised logP; the training set is a substitute for the official one",
    ),
    Source(
        name="zinc-full",
        tasks=("graph",),
        splits=("fixed",),
        metric={"graph": "mae"},
        provenance="rebuilt",
        load=_full,
        files=(FULL,),
        licence="MIT (github.com/wenhao-gao/mol_opt)",
        source="ZINC's 250k SMILES, split as in JT-VAE",
        summary="249,455 molecules, penalised logP",
    ),
)
