"""Settings are named once, in the configuration's classes, and come back from whatever they are written to."""

from __future__ import annotations

import re
from argparse import ArgumentParser
from dataclasses import asdict, fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engnn.errors import InputError
from engnn.train.config import SECTIONS, Config, ModelConfig, TrainConfig
from engnn.train.options import add_options, make_config, options, parse_recipe, written

INTEGERS = {name: option for name, option in options().items() if option.kind is int}


def test_every_field_is_a_setting_with_help_and_its_default() -> None:
    wanted = {one.name: one.default for one in fields(Config) if one.name not in SECTIONS}
    wanted |= {f"model.{one.name}": one.default for one in fields(ModelConfig)}
    wanted |= {f"train.{one.name}": one.default for one in fields(TrainConfig)}
    found = options()
    assert {name: option.default for name, option in found.items()} == wanted
    assert all(len(option.help) > 3 for option in found.values())


def test_no_help_is_of_a_field_that_is_not_there() -> None:
    for cls in (Config, ModelConfig, TrainConfig):
        told = re.findall(r"^        (\w+): ", cls.__doc__ or "", re.MULTILINE)
        assert set(told) == {one.name for one in fields(cls)} - set(SECTIONS)


@given(
    st.fixed_dictionaries(
        {
            "data": st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z"))),
            "seed": st.integers(0, 2**62 - 1),
            "model.noise": st.sampled_from(["normal", "no", "on", "1", "null", "~", "1e3", "0x1", "a: b", "- a"]),
            "model.layers": st.integers(1, 99),
            "train.learning_rate": st.floats(1e-12, 1e3),
            "train.compile": st.booleans(),
        }
    )
)
def test_what_is_written_is_read_back_to_the_bit(settings: dict[str, Any]) -> None:
    config = make_config(settings)
    assert make_config(parse_recipe(written(config), "here")) == config


@given(st.sampled_from(sorted(options())), st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text()))
def test_any_value_is_taken_as_its_kind_or_refused(name: str, value: object) -> None:
    refusal = ""
    try:
        config = make_config({name: value})
    except InputError as error:
        refusal = str(error)
    if refusal:
        assert name in refusal
        return
    section, _, key = name.rpartition(".")
    found = asdict(config)[section][key] if section else asdict(config)[key]
    kind = options()[name].kind
    assert found in kind if isinstance(kind, tuple) else type(found) is kind


def test_what_is_given_later_wins_and_text_is_as_good_as_a_number() -> None:
    config = make_config({"model.layers": 3, "model.hidden": 8}, {"model.layers": "5", "train.compile": "yes"})
    assert (config.model.layers, config.model.hidden, config.train.compile) == (5, 8, True)


def test_the_command_line_has_them_all_and_only_those_given_count() -> None:
    parser = ArgumentParser(allow_abbrev=False)
    add_options(parser)
    told = vars(parser.parse_args(["--model.layers", "7", "--train.precision=bfloat16"]))
    assert set(told) == {f"set:{name}" for name in options() if name != "data"}
    given = {name.removeprefix("set:"): value for name, value in told.items() if value is not None}
    assert given == {"model.layers": "7", "train.precision": "bfloat16"}
    assert make_config(given).model.layers == 7


@pytest.mark.parametrize("name", sorted(INTEGERS))
def test_a_count_has_bounds(name: str) -> None:
    for value in (-1, 1 << 63):
        with pytest.raises(InputError, match=f"{name} is -?[0-9]+: it must be from"):
            make_config({name: value})


def test_yaml_runs_nothing(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for text in ("!!python/object/apply:os.system ['touch owned']", "a: !!python/name:os.system", "!!python/module:os"):
        with pytest.raises(InputError, match="not plain YAML"):
            parse_recipe(text, "here")
    assert not list(tmp_path.iterdir())
