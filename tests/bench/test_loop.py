"""The benchmark of the loop takes real steps of both kinds."""

from __future__ import annotations

import pytest
import torch

from engnn.bench.loop import overhead
from engnn.train.loop import Training


def test_it_times_as_many_steps_of_the_loop_as_it_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    losses = []
    step = Training.step

    def counted(self: Training, stopping: bool = False) -> tuple[float, bool]:
        losses.append(step(self, stopping)[0])
        return losses[-1], False

    monkeypatch.setattr(Training, "step", counted)
    found = overhead("karate", device="cpu", blocks=3, seconds=0.05)
    assert len(losses) == found["steps"] + 9  # by which it finds out how many fit into a block
    assert torch.tensor(losses).isfinite().all()
    assert found["seconds_a_step"] > 0
    assert found["bare"] > 0
    assert found["overhead"] > -1
