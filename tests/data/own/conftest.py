from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path

import pytest
import torch

from engnn.data.dataset import Dataset

Write = Callable[[Mapping[str, str | bytes]], Path]
Same = Callable[[Dataset, Dataset], None]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes files, and gives their folder."""

    def files(content: Mapping[str, str | bytes]) -> Path:
        for name, text in content.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return tmp_path

    return files


@pytest.fixture
def assert_same() -> Same:
    """Fails unless two datasets are equal in all but their names and what is said of them."""

    def same(one: object, other: object, what: str = "") -> None:
        assert type(one) is type(other), what
        if isinstance(one, torch.Tensor):
            torch.testing.assert_close(one, other, rtol=0, atol=0, msg=what)
        elif hasattr(one, "__dataclass_fields__"):
            for field in fields(one):
                if field.name not in ("name", "source", "notes"):
                    same(getattr(one, field.name), getattr(other, field.name), f"{what}.{field.name}")
        elif isinstance(one, dict):
            assert one.keys() == other.keys(), what  # type: ignore[attr-defined]
            for key in one:
                same(one[key], other[key], f"{what}[{key!r}]")  # type: ignore[index]
        else:
            assert one == other, what

    return same
