"""SMILES in, graphs out: atoms and bonds with the Open Graph Benchmark's nine and three features.

Each feature is a code: the place of the atom's value in the feature's list of levels, the last of which stands for
every other value. The lists are those of OGB 1.3.6. Needs RDKit (the extra `molecules`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from engnn.data.dataset import Graphs
from engnn.data.undirected import undirected
from engnn.errors import InputError

Feature = tuple[tuple[object, ...], Callable[[Any], object]]  # the levels, and the value of an atom or a bond
OTHER: Final = "misc"
NAMED: Final = 5  # unreadable SMILES that the error names
ATOM: Final[tuple[Feature, ...]] = (
    ((*range(1, 119), OTHER), lambda atom: atom.GetAtomicNum()),
    (
        ("CHI_UNSPECIFIED", "CHI_TETRAHEDRAL_CW", "CHI_TETRAHEDRAL_CCW", "CHI_OTHER", OTHER),
        lambda atom: str(atom.GetChiralTag()),
    ),
    ((*range(11), OTHER), lambda atom: atom.GetTotalDegree()),
    ((*range(-5, 6), OTHER), lambda atom: atom.GetFormalCharge()),
    ((*range(9), OTHER), lambda atom: atom.GetTotalNumHs()),
    ((*range(5), OTHER), lambda atom: atom.GetNumRadicalElectrons()),
    (("SP", "SP2", "SP3", "SP3D", "SP3D2", OTHER), lambda atom: str(atom.GetHybridization())),
    ((False, True), lambda atom: atom.GetIsAromatic()),
    ((False, True), lambda atom: atom.IsInRing()),
)
BOND: Final[tuple[Feature, ...]] = (
    (("SINGLE", "DOUBLE", "TRIPLE", "AROMATIC", OTHER), lambda bond: str(bond.GetBondType())),
    (
        ("STEREONONE", "STEREOZ", "STEREOE", "STEREOCIS", "STEREOTRANS", "STEREOANY"),
        lambda bond: str(bond.GetStereo()),
    ),
    ((False, True), lambda bond: bond.GetIsConjugated()),
)
ATOM_LEVELS: Final = tuple(len(levels) for levels, _ in ATOM)
BOND_LEVELS: Final = tuple(len(levels) for levels, _ in BOND)


def from_smiles(smiles: Sequence[str]) -> Graphs:
    """One graph for each SMILES: its heavy atoms, in their order, and its bonds.

    >>> ethanol, benzene = "CCO", "c1ccccc1"
    >>> graphs = from_smiles([ethanol, benzene])
    >>> graphs.num_nodes.tolist(), graphs.num_edges.tolist(), graphs.x[2, :2].tolist()
    ([3, 6], [4, 12], [7, 0])
    """
    try:
        from rdkit import rdBase
    except ImportError as error:
        raise InputError("SMILES are read by RDKit, which is not installed: pip install 'engnn[molecules]'") from error
    with rdBase.BlockLogs():  # what it would print is in the error
        read = [_molecule(text) for text in smiles]
    if wrong := [(row, why) for row, why in enumerate(read) if isinstance(why, str)]:
        named = "; ".join(f"row {row + 1}, {smiles[row]!r}: {why}" for row, why in wrong[:NAMED])
        more = f"; and {len(wrong) - NAMED} more" if len(wrong) > NAMED else ""
        raise InputError(
            f"RDKit reads no molecule in {len(wrong)} of {len(read)} SMILES: {named}{more}. Mend or remove them"
        )
    atoms = [atom for molecule in read for atom in molecule.GetAtoms()]
    bonds = [bond for molecule in read for bond in molecule.GetBonds()]
    return undirected(
        np.array([molecule.GetNumAtoms() for molecule in read], dtype=np.int64),
        np.array([molecule.GetNumBonds() for molecule in read], dtype=np.int64),
        np.array([(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in bonds], dtype=np.int64).reshape(-1, 2).T,
        x=_codes(ATOM, atoms),
        x_levels=ATOM_LEVELS,
        edge_attr=_codes(BOND, bonds),
        edge_levels=BOND_LEVELS,
    )


def _molecule(smiles: str) -> Any:
    """The molecule, or in words why there is none."""
    from rdkit import Chem

    molecule: Any = Chem.MolFromSmiles(smiles)
    if molecule is not None:
        return molecule if molecule.GetNumAtoms() else "it has no atoms"
    unchecked: Any = Chem.MolFromSmiles(smiles, sanitize=False)
    if unchecked is None:
        return "it is not written as a SMILES is"
    return "; ".join(problem.Message() for problem in Chem.DetectChemistryProblems(unchecked)) or "no such molecule"


def _codes(features: tuple[Feature, ...], items: list[Any]) -> np.ndarray[Any, Any]:
    codes = np.empty((len(items), len(features)), dtype=np.uint8)
    for column, (levels, value) in enumerate(features):
        place = {level: code for code, level in enumerate(levels)}
        codes[:, column] = [place.get(value(item), len(levels) - 1) for item in items]
    return codes
