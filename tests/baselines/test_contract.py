"""What every baseline keeps to, found by its name: shapes, symmetries, levels that fit, a file of tests of its own."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from engnn.errors import InputError
from engnn.testing import Case, assert_batch_consistent, assert_edge_order_invariant, assert_node_equivariant
from engnn.train.config import Config, ModelConfig, TrainConfig
from engnn.train.models import BOOSTED, ENGNN, PREFIX, accepted, build, names
from engnn.train.options import default_recipe, make_config
from engnn.train.run import opened, train
from engnn.train.trained import load

LEVELS = ("node", "link", "subgraph", "graph")
NAMES = [name for name in names() if name != ENGNN]
SMALL: dict[str, Any] = {"hidden_channels": 8, "num_layers": 2, "dropout": 0.0, "edge_dim": 2}
SMALL |= {"noise_channels": 5, "noise_dim": 8, "noise": "normal"}
AXES = {"node": "node", "link": "target", "subgraph": "target", "graph": "graph"}


def made(name: str, level: str, *, in_channels: int = 3, seed: int = 0) -> nn.Module:
    """The model, evaluating in double precision, given those arguments that it names."""
    torch.manual_seed(seed)
    given = {**SMALL, "in_channels": in_channels, "out_channels": 2 if level != "link" else 1, "level": level}
    model = build(name, {key: value for key, value in given.items() if key in accepted(name)}).double().eval()
    for parameter in model.parameters():
        if not parameter.any():  # as the branches of boosted models begin
            nn.init.normal_(parameter)
    return model


def levels(name: str) -> list[str]:
    def fits(level: str) -> bool:
        try:
            made(name, level)
        except InputError:
            return False
        return True

    return [level for level in LEVELS if fits(level)]


FITTING = [(name, level) for name in NAMES for level in levels(name)]


def case(level: str, *, features: int = 3, width: int = 5) -> Case:
    """Three graphs, one of them a single node, with node and edge features."""
    draw = torch.Generator().manual_seed(1)
    batch = torch.tensor([0] * 6 + [1] + [2] * 5)
    pairs = [(i, j) for i in range(12) for j in range(i) if batch[i] == batch[j] and (i + 2 * j) % 3 != 0]
    one = torch.tensor(pairs).T
    edge_index = torch.cat([one, one.flip(0)], dim=1)
    attr = torch.randn(one.size(1), 2, generator=draw, dtype=torch.double)
    targets = {
        "link": torch.tensor([[0, 1], [2, 5], [7, 9], [10, 11]]),
        "subgraph": torch.tensor([[0, 1, 4], [7, 8, 9]]),
    }
    x = torch.randn(12, features, generator=draw, dtype=torch.double) if features else None
    noise = torch.rand(12, width, generator=draw, dtype=torch.double) * 3 - 1.5
    return Case(x, noise, edge_index, torch.cat([attr, attr]), batch, 3, targets.get(level))


def function(model: nn.Module, level: str) -> Callable[[Case], Tensor]:
    def called(case: Case) -> Tensor:
        targets: Any = case.targets
        if level == "link":
            targets = case.targets.T if case.targets is not None else None
        if level == "subgraph" and case.targets is not None:
            count, size = case.targets.shape
            targets = (case.targets.flatten(), torch.arange(count).repeat_interleave(size), count)
        n = None if case.batch is None else len(case.batch)
        out: Tensor = model(
            case.x,
            case.edge_index,
            edge_attr=case.edge_attr,
            batch=case.batch,
            targets=targets,
            noise=case.z,
            num_nodes=n,
            size=case.size,
        )
        return out

    return called


def test_there_are_baselines() -> None:
    assert len(NAMES) >= 19
    assert all(levels(name) for name in NAMES)


@pytest.mark.parametrize("name", [name for name in NAMES if not name.startswith(PREFIX)])
def test_it_says_where_it_was_published_and_by_which_equation(name: str) -> None:
    said = import_module(f"engnn.baselines.{name}").__doc__ or ""
    assert ".. math::" in said
    assert any(str(year) in said for year in range(1990, 2027))
    assert (Path(__file__).parent / f"test_{name}.py").exists()


@pytest.mark.parametrize("name", NAMES)
def test_its_recipe_is_taken_by_its_name_over_that_of_the_data(name: str) -> None:
    names, settings = default_recipe("karate", "node", name)
    assert names == f"karate.yaml, models/{name}.yaml"
    assert settings["model.name"] == name
    assert make_config(settings).model.name == name
    assert {**default_recipe("karate", "node")[1], **settings} == settings


@pytest.mark.parametrize("name", BOOSTED)
def test_a_boosted_model_has_the_recipe_of_the_bare_one(name: str) -> None:
    bare, boosted = (default_recipe("cora", "node", one)[1] for one in (name, f"{PREFIX}{name}"))
    assert {**bare, "model.name": f"{PREFIX}{name}"} == boosted


@pytest.mark.parametrize(("name", "level"), FITTING)
def test_it_keeps_the_symmetries_of_graphs_and_of_batches(name: str, level: str) -> None:
    called = function(made(name, level), level)
    assert_node_equivariant(called, case(level), AXES[level])
    assert_edge_order_invariant(called, case(level), AXES[level])
    assert_batch_consistent(called, case(level), AXES[level])


@pytest.mark.parametrize(("name", "level"), FITTING)
def test_it_takes_graphs_without_features_without_edges_and_of_one_node(name: str, level: str) -> None:
    model = made(name, level, in_channels=0)
    whole = case(level, features=0)
    assert function(model, level)(whole).isfinite().all()
    none = whole._replace(edge_index=whole.edge_index[:, :0], edge_attr=whole.edge_attr[:0])  # type: ignore[index]
    assert function(model, level)(none).isfinite().all()
    one = Case(None, None, torch.empty(2, 0).long(), torch.empty(0, 2).double(), torch.tensor([0]), 1)
    ends = {"link": torch.tensor([[0, 0]]), "subgraph": torch.tensor([[0]])}
    for training in (False, True):
        model.train(training)
        assert function(model, level)(one._replace(targets=ends.get(level))).isfinite().all()


@pytest.mark.parametrize(("name", "level"), FITTING)
def test_every_parameter_is_learnt(name: str, level: str) -> None:
    model = made(name, level)
    function(model, level)(case(level)).square().sum().backward()  # type: ignore[no-untyped-call]
    for parameter, one in model.named_parameters():
        learnt = one.grad is not None and bool(one.grad.any())
        assert learnt != unheard(name, level, parameter), parameter


def unheard(name: str, level: str, parameter: str) -> bool:
    """Whether it makes the noise that a boosted model's last convolution hands on, which is read out of sets alone."""
    return name.startswith(PREFIX) and level in ("node", "graph") and "convs.1.layer.branch.h." in parameter


@pytest.mark.parametrize(("name", "level"), [(n, lv) for n in NAMES for lv in LEVELS if (n, lv) not in FITTING])
def test_where_it_does_not_fit_it_says_why(name: str, level: str) -> None:
    with pytest.raises(InputError, match=rf"{name} .*{level} task.*take another --model"):
        made(name, level)


@pytest.mark.parametrize("name", NAMES)
def test_it_is_trained_and_kept_by_its_name(name: str, tmp_path: Path) -> None:
    ring = range(30)
    sets = [f"{i},{i} {(i + 1 + i % 2) % 30},{'near' if i % 2 else 'far'}" for i in ring]
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "edges.csv").write_text("source,target\n" + "".join(f"{i},{(i + 1) % 30}\n" for i in ring))
    (tmp_path / "own" / "subgraphs.csv").write_text("id,nodes,label\n" + "\n".join(sets) + "\n")
    data = {"node": "karate", "link": "small-world", "subgraph": str(tmp_path / "own")}[levels(name)[0]]
    small = ModelConfig(name=name, layers=2, hidden=8)
    config = Config(data=data, draws=1, model=small, train=TrainConfig(epochs=2))
    dataset = opened(config)
    said = train(config, dataset, tmp_path / "run")
    assert (said["model"], said["complete"]) == (name, True)
    assert 0 <= said["scores"]["test"] <= 1
    kept = load(tmp_path / "run", device="cpu")
    kept.predict(dataset).to_csv(tmp_path / "again.csv")
    rows = {name: (tmp_path / name).read_text().splitlines() for name in ("again.csv", "run/predictions.csv")}
    assert set(rows["run/predictions.csv"]) <= set(rows["again.csv"]) or data == "small-world"
