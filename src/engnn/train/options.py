"""Settings from a YAML recipe and from the command line, by the names that the configuration's classes give them.

A name is dotted: `model.layers`. What is given later wins: the classes' defaults, the recipe, the command line.
"""

from __future__ import annotations

import dataclasses
import re
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from importlib import resources
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

import yaml

from engnn.errors import InputError, nearest
from engnn.train.config import SECTIONS, Config

LARGEST_RECIPE = 1 << 20  # bytes
SWITCH = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}


class Option(NamedTuple):
    """One setting: its kind is bool, int, float, str or the tuple of its choices."""

    kind: Any
    default: Any
    help: str


def options() -> dict[str, Option]:
    """All settings, by their dotted names.

    >>> options()["model.layers"].help
    'message-passing layers'
    """
    found = dict(_options(Config, ""))
    for section, cls in SECTIONS.items():
        found |= dict(_options(cls, f"{section}."))
    return found


def add_options(parser: ArgumentParser) -> None:
    """Give a command line all settings, each with its help and its default."""
    groups = {section: parser.add_argument_group(section) for section in SECTIONS}
    for name, option in options().items():
        if name == "data":
            continue
        section = name.partition(".")[0]
        shown = (
            "none" if option.default == "" else str(option.default).lower() if option.kind is bool else option.default
        )
        choices = [choice for choice in option.kind if choice] if isinstance(option.kind, tuple) else None
        where = groups.get(section, parser) if "." in name else parser
        where.add_argument(
            f"--{name}",
            dest=f"set:{name}",
            metavar="|".join(choices) if choices else name.rpartition(".")[2].upper(),
            help=f"{option.help} ({shown})".replace("%", "%%"),
        )


def read_recipe(path: Path) -> dict[str, Any]:
    """The settings in a YAML file, by dotted names. Nothing in it is executed."""
    try:
        if path.stat().st_size > LARGEST_RECIPE:
            raise InputError(f"{path} has {path.stat().st_size} bytes: a recipe has a few hundred; give another file")
        return parse_recipe(path.read_text(encoding="utf-8"), str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read as a recipe ({error}): give a YAML file") from error


def parse_recipe(text: str, where: str) -> dict[str, Any]:
    """The settings in a YAML text."""
    try:
        read = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        said = " ".join(str(error).split())[:300] or "nested too deeply"
        raise InputError(f"{where} is not plain YAML: {said}") from error
    known = options()
    settings = {name: _cast(name, value, known, where) for name, value in _flat(read or {}, "", where)}
    try:
        make_config(settings)
    except InputError as error:
        raise InputError(f"{where}: {error}") from error
    return settings


def default_recipe(data: str, task: str, model: str = "") -> tuple[str, dict[str, Any]]:
    """The names and the settings of what comes with engnn: for a dataset, else for its task; over it, for a model."""
    folder = resources.files("engnn") / "recipes"
    dataset = re.sub(r"[^a-z0-9_-]", "-", data)
    generic = (f"{dataset}-{task}", dataset, dataset.partition("-")[0] if ":" in data else "", task)
    names = [next((name for name in generic if name and (folder / f"{name}.yaml").is_file()), ""), f"models/{model}"]
    found = {f"{name}.yaml": folder / f"{name}.yaml" for name in names}
    read = {name: parse_recipe(one.read_text(encoding="utf-8"), name) for name, one in found.items() if one.is_file()}
    return ", ".join(read), {key: value for one in read.values() for key, value in one.items()}


def make_config(*layers: Mapping[str, Any]) -> Config:
    """The configuration that settings by dotted name make, the later layers before the earlier.

    >>> make_config({"model.layers": 3, "seed": 1}, {"model.layers": "5"}).model.layers
    5
    """
    known = options()
    given = {name: _cast(name, value, known, "this call") for layer in layers for name, value in layer.items()}
    parts = {
        section: cls(
            **{name.partition(".")[2]: value for name, value in given.items() if name.startswith(f"{section}.")}
        )
        for section, cls in SECTIONS.items()
    }
    return Config(**parts, **{name: value for name, value in given.items() if "." not in name})


def written(config: Config) -> str:
    """The YAML text that makes a configuration again."""
    return yaml.safe_dump(asdict(config), sort_keys=False)


def _options(cls: type, prefix: str) -> Iterator[tuple[str, Option]]:
    hints = get_type_hints(cls)
    helps = dict(re.findall(r"^        (\w+): (.*)$", cls.__doc__ or "", re.MULTILINE))
    for one in dataclasses.fields(cls):
        if one.name in SECTIONS and not prefix:
            continue
        kind = hints[one.name]
        yield (
            f"{prefix}{one.name}",
            Option(get_args(kind) if get_origin(kind) is Literal else kind, one.default, helps[one.name]),
        )


def _flat(read: object, prefix: str, where: str) -> Iterator[tuple[str, object]]:
    if not isinstance(read, dict):
        raise InputError(f"{where}: {prefix.rstrip('.') or 'a recipe'} must hold names and values (`name: value`)")
    for key, value in read.items():
        if not isinstance(key, str):
            raise InputError(f"{where}: {prefix}{str(key)[:40]} is not the name of a setting; names are words")
        if f"{prefix}{key}" in SECTIONS:
            yield from _flat(value or {}, f"{prefix}{key}.", where)
        else:
            yield f"{prefix}{key}", value


def _cast(name: str, value: object, known: Mapping[str, Option], where: str) -> Any:
    """The value as its setting's kind, from text too."""
    if name not in known:
        raise InputError(f"{where}: {name[:80]!r} is not a setting; {nearest(name, known)}")
    kind = known[name].kind
    match kind:
        case tuple() if value in kind:
            return value
        case _ if kind is bool and isinstance(value, bool | str) and str(value).lower() in SWITCH:
            return SWITCH[str(value).lower()]
        case _ if kind is str and isinstance(value, str | int) and not isinstance(value, bool):
            return str(value)
        case _ if kind is str and value is None:
            return ""
        case _ if kind in (int, float) and isinstance(value, str):
            try:
                return kind(value)
            except ValueError:
                pass
        case _ if kind is int and isinstance(value, int) and not isinstance(value, bool):
            return value
        case _ if kind is float and isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
    wanted = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}
    wish = " or ".join(choice for choice in kind if choice) if isinstance(kind, tuple) else wanted[kind]
    shown = repr(value)[:80] if isinstance(value, str | int | float | None) else f"a {type(value).__name__}"
    raise InputError(f"{where}: {name} is {shown}: it must be {wish}")
