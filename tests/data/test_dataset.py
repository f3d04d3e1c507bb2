"""A batch of graphs is what picking the graphs out one by one and setting them side by side gives."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.data import Batch, Data

from engnn.data.dataset import Graphs, Members, offsets, ranges


@st.composite
def many_graphs(draw: st.DrawFn, coded: bool = False) -> tuple[Graphs, list[Data]]:
    """Random graphs end to end, and each as PyG has it."""
    sizes = draw(st.lists(st.integers(1, 5), min_size=1, max_size=5))
    pairs = [draw(st.lists(st.tuples(*[st.integers(0, size - 1)] * 2), max_size=8)) for size in sizes]
    generator = torch.Generator().manual_seed(draw(st.integers(0, 99)))
    levels = (3, 2)
    single = []
    for size, edges in zip(sizes, pairs, strict=True):
        index = torch.tensor(edges, dtype=torch.long).reshape(-1, 2).T
        single.append(
            Data(
                x=_rows(size, levels if coded else (), generator),
                edge_index=index,
                edge_attr=_rows(len(edges), levels if coded else (), generator),
                edge_weight=torch.rand(len(edges), generator=generator),
                num_nodes=size,
            )
        )
    graphs = Graphs(
        torch.tensor(sizes),
        torch.tensor([len(edges) for edges in pairs]),
        torch.cat([one.edge_index for one in single], 1).int(),
        x=torch.cat([one.x for one in single]),
        x_levels=levels if coded else (),
        edge_attr=torch.cat([one.edge_attr for one in single]),
        edge_levels=levels if coded else (),
        edge_weight=torch.cat([one.edge_weight for one in single]),
    )
    for one in single if coded else []:
        one.x, one.edge_attr = _one_hot(one.x, levels), _one_hot(one.edge_attr, levels)
    return graphs, single


def _rows(count: int, levels: tuple[int, ...], generator: torch.Generator) -> Tensor:
    if not levels:
        return torch.rand(count, 2, generator=generator)
    return torch.stack([torch.randint(0, level, (count,), generator=generator) for level in levels], 1)


def _one_hot(codes: Tensor, levels: tuple[int, ...]) -> Tensor:
    """One block for each column."""
    return torch.cat([torch.nn.functional.one_hot(codes[:, j], level) for j, level in enumerate(levels)], 1).float()


@pytest.mark.parametrize("coded", [False, True])
@given(data=st.data())
def test_a_batch_is_the_one_that_pyg_makes_of_single_graphs(coded: bool, data: st.DataObject) -> None:
    graphs, single = data.draw(many_graphs(coded))
    chosen = data.draw(st.lists(st.integers(0, len(single) - 1), min_size=1, max_size=6))
    batch, expected = graphs.batch(torch.tensor(chosen)), Batch.from_data_list([single[i] for i in chosen])
    for key in ("x", "edge_index", "edge_attr", "edge_weight", "batch", "ptr"):
        torch.testing.assert_close(batch[key], expected[key], rtol=0, atol=0, msg=key)
    assert batch.num_nodes == expected.num_nodes
    assert batch.graph_id.tolist() == chosen
    assert batch.edge_index.dtype == torch.long


@given(many_graphs())
def test_all_graphs_at_once_are_all_of_them_in_order(made: tuple[Graphs, list[Data]]) -> None:
    graphs, single = made
    whole, listed = graphs.batch(), graphs.batch(torch.arange(len(single)))
    backwards = graphs.batch(torch.arange(len(single)).flip(0))
    for key in ("x", "edge_index", "edge_attr", "edge_weight", "batch", "ptr", "graph_id"):
        torch.testing.assert_close(whole[key], listed[key], rtol=0, atol=0)
    assert backwards.graph_id.tolist() == list(range(len(single)))[::-1]
    assert backwards.num_nodes == whole.num_nodes


def test_a_sparse_x_is_dense_in_a_batch_and_only_its_rows_are_made_so() -> None:
    dense = torch.tensor([[0.0, 2], [3, 0], [0, 0], [5, 7]])
    parts = torch.tensor([1, 3]), torch.tensor([0, 0]), torch.zeros(2, 0, dtype=torch.long)
    sparse, plain = Graphs(*parts, x=dense.to_sparse()), Graphs(*parts, x=dense)
    assert sparse.in_channels == plain.in_channels == 2
    for chosen in (None, torch.tensor([1]), torch.tensor([1, 0, 1])):
        torch.testing.assert_close(sparse.batch(chosen).x, plain.batch(chosen).x, rtol=0, atol=0)


def test_graphs_without_features_have_none_and_widths_are_those_of_a_batch() -> None:
    bare = Graphs(torch.tensor([2]), torch.tensor([1]), torch.tensor([[0], [1]]))
    assert (bare.in_channels, bare.edge_dim) == (0, 0)
    assert bare.batch().x is None
    assert bare.batch().edge_attr is None
    assert bare.batch().edge_weight is None
    coded = Graphs(
        *(bare.num_nodes, bare.num_edges, bare.edge_index),
        x=torch.zeros(2, 2, dtype=torch.uint8),
        x_levels=(4, 3),
        edge_attr=torch.zeros(1, 1, dtype=torch.uint8),
        edge_levels=(2,),
    )
    assert (coded.in_channels, coded.edge_dim) == (7, 2)
    assert (coded.batch().x.shape, coded.batch().edge_attr.shape) == ((2, 7), (1, 2))


@pytest.mark.parametrize("kind", ["dense", "sparse", "codes", "zeros", "none"])
def test_the_size_of_features_is_the_root_mean_square_of_what_a_batch_gives(kind: str) -> None:
    dense = torch.tensor([[0.0, 2], [3, 0], [0, 0], [5, 7]])
    codes = torch.tensor([[0, 2], [1, 0], [1, 1], [0, 0]], dtype=torch.uint8)
    x = {"dense": dense, "sparse": dense.to_sparse(), "codes": codes, "zeros": 0 * dense, "none": None}[kind]
    levels = (2, 3) if kind == "codes" else ()
    graphs = Graphs(torch.tensor([4]), torch.tensor([0]), torch.zeros(2, 0, dtype=torch.long), x=x, x_levels=levels)
    given = graphs.batch().x
    assert graphs.x_size == pytest.approx(float(given.square().mean().sqrt()) if kind[0] in "dsc" else 1.0)


def test_no_graphs_are_an_empty_batch() -> None:
    graphs = Graphs(torch.tensor([2]), torch.tensor([2]), torch.tensor([[0, 1], [1, 0]]), x=torch.ones(2, 3))
    batch = graphs.batch(torch.zeros(0, dtype=torch.long))
    assert (batch.num_nodes, batch.x.shape, batch.edge_index.shape) == (0, (0, 3), (2, 0))


@given(st.lists(st.lists(st.integers(0, 9), max_size=4), min_size=1, max_size=5), st.data())
def test_sets_are_picked_out_whole_and_in_order(sets: list[list[int]], data: st.DataObject) -> None:
    members = Members(offsets(torch.tensor([len(s) for s in sets])), torch.tensor([n for s in sets for n in s]).long())
    assert len(members) == len(sets)
    chosen = data.draw(st.lists(st.integers(0, len(sets) - 1), max_size=6))
    nodes, of = members.select(torch.tensor(chosen, dtype=torch.long))
    assert [(int(i), int(n)) for i, n in zip(of, nodes, strict=True)] == [
        (place, node) for place, number in enumerate(chosen) for node in sets[number]
    ]


@given(st.lists(st.tuples(st.integers(-5, 50), st.integers(0, 5)), max_size=8))
def test_ranges_are_one_after_another(runs: list[tuple[int, int]]) -> None:
    start, size = (torch.tensor([run[i] for run in runs], dtype=torch.long) for i in (0, 1))
    assert ranges(start, size).tolist() == [value for first, length in runs for value in range(first, first + length)]
    assert offsets(size).tolist() == [sum(length for _, length in runs[:i]) for i in range(len(runs) + 1)]
