from __future__ import annotations

import sys

import pytest
import torch

from engnn.data.molecules import ATOM, ATOM_LEVELS, BOND, BOND_LEVELS, from_smiles
from engnn.errors import InputError


def atom(smiles: str, place: int) -> list[object]:
    """The features of an atom, as the levels that its codes stand for."""
    x = from_smiles([smiles]).x
    assert x is not None
    return [levels[code] for code, (levels, _) in zip(x[place].tolist(), ATOM, strict=True)]


def bond(smiles: str, place: int) -> list[object]:
    codes = from_smiles([smiles]).edge_attr
    assert codes is not None
    return [levels[code] for code, (levels, _) in zip(codes[2 * place].tolist(), BOND, strict=True)]


def test_the_levels_are_as_many_as_ogb_has() -> None:
    assert ATOM_LEVELS == (119, 5, 12, 12, 10, 6, 6, 2, 2)
    assert BOND_LEVELS == (5, 6, 2)


def test_atoms_carry_element_chirality_degree_charge_hydrogens_radicals_hybridisation_and_rings() -> None:
    assert atom("c1ccccc1", 0) == [6, "CHI_UNSPECIFIED", 3, 0, 1, 0, "SP2", True, True]
    assert atom("C[N+](C)(C)C", 1) == [7, "CHI_UNSPECIFIED", 4, 1, 0, 0, "SP3", False, False]
    assert atom("[CH3]", 0) == [6, "CHI_UNSPECIFIED", 3, 0, 3, 1, "SP3", False, False]
    assert atom("N[C@@H](C)C(=O)O", 1)[1] == "CHI_TETRAHEDRAL_CW"
    assert atom("N[C@H](C)C(=O)O", 1)[1] == "CHI_TETRAHEDRAL_CCW"


def test_bonds_carry_kind_stereo_and_conjugation() -> None:
    assert bond("c1ccccc1", 0) == ["AROMATIC", "STEREONONE", True]
    assert bond("CC#N", 1) == ["TRIPLE", "STEREONONE", False]
    assert bond("F/C=C/F", 1) == ["DOUBLE", "STEREOE", False]
    assert bond("F/C=C\\F", 1) == ["DOUBLE", "STEREOZ", False]


def test_a_value_without_a_level_gets_the_last() -> None:
    assert atom("*C", 0)[0] == "misc"  # atomic number 0
    assert bond("[Na]->[Cl]", 0)[0] == "misc"


def test_graphs_are_as_many_as_smiles_and_edges_go_both_ways() -> None:
    graphs = from_smiles(["O", "CCO", "C1CC1.C"])
    assert graphs.num_nodes.tolist() == [1, 3, 4]
    assert graphs.num_edges.tolist() == [0, 4, 6]
    assert graphs.edge_index[:, :4].tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]]
    assert graphs.x is not None
    assert graphs.x.dtype == torch.uint8


def test_only_atoms_without_bonds_make_a_graph_without_edges() -> None:
    graphs = from_smiles(["[Na+].[Cl-]"])
    assert graphs.edge_index.shape == (2, 0)
    assert graphs.edge_attr is not None
    assert graphs.edge_attr.shape == (0, 3)


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ("C1CC", "not written as a SMILES is"),
        ("C(C)(C)(C)(C)C", "Explicit valence for atom # 0 C, 5, is greater than permitted"),
        ("c1cccc1", "kekulize"),
        ("", "no atoms"),
    ],
)
def test_a_smiles_that_is_no_molecule_is_told_with_its_row_and_why(
    wrong: str, why: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(InputError) as told:
        from_smiles(["CCO", wrong, "C"])
    assert "in 1 of 3 SMILES" in str(told.value)
    assert f"row 2, {wrong!r}" in str(told.value)
    assert why in str(told.value)
    assert capfd.readouterr() == ("", "")  # RDKit's own complaints are not printed besides


def test_many_unreadable_smiles_are_counted_and_the_first_named() -> None:
    with pytest.raises(InputError, match=r"8 of 9 SMILES: row 2, 'X1': .*row 6, 'X5': .*; and 3 more"):
        from_smiles(["C", *(f"X{i}" for i in range(1, 9))])


def test_without_rdkit_the_extra_to_install_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rdkit", None)
    with pytest.raises(InputError, match=r"engnn\[molecules\]"):
        from_smiles(["C"])
