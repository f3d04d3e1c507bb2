"""The shape of the command line, in real processes: it starts fast, helps, and tells a bug from a wrong call."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import engnn
from engnn import cli

HEAVY = ("torch", "torch_geometric", "numpy", "scipy", "pandas", "networkx", "optuna", "jinja2")


def run(*argv: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "engnn", *argv], capture_output=True, text=True, check=False)


def test_help_and_version_import_nothing_heavy() -> None:
    program = (
        "import sys; from engnn.cli import main; codes = [main(argv) for argv in (['--help'], ['--version'], "
        "['train', '--help'], ['predict', '--help'])]; "
        f"print(codes, [name for name in {HEAVY} if name in sys.modules], file=sys.stderr)"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ended.stderr.strip() == "[0, 0, 0, 0] []"
    assert engnn.__version__ in ended.stdout


@pytest.mark.parametrize("command", [(), ("train",), ("evaluate",), ("predict",), ("tune",), ("report",), ("data",)])
def test_each_command_explains_itself(command: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([*command, "--help"]) == cli.DONE
    said = capsys.readouterr().out
    assert said.startswith("usage: engnn")
    assert "%" not in said.replace("10 %", "").replace("%)", "")


def test_help_tells_every_setting_with_its_default(capsys: pytest.CaptureFixture[str]) -> None:
    from engnn.train.options import options

    cli.main(["train", "--help"])
    said = " ".join(capsys.readouterr().out.split())
    for name, option in options().items():
        if name != "data":
            assert f"--{name} " in said
            assert option.help.split()[0] in said


def test_a_wrong_call_a_wrong_input_and_success_have_codes_of_their_own() -> None:
    for argv, code in {("data", "list", "--json"): 0, ("no-such-command",): 2, ("train", "no-such-data"): 2}.items():
        ended = run(*argv)
        assert ended.returncode == code, ended.stderr
        assert "Traceback" not in ended.stderr
        assert (code == 0) == bool(ended.stdout)
        if not code:
            assert isinstance(json.loads(ended.stdout), list)


def test_a_bug_is_a_traceback_and_code_1() -> None:
    program = "from engnn import cli; cli.add_train = None; cli.main(['--help'])"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert "Traceback" in ended.stderr


@pytest.mark.parametrize(
    ("argv", "hint"),
    [
        (["train", "karate", "--train.epoch=3"], "did you mean '--train.epochs'?"),
        (["train", "karate", "--modle.layers", "3"], "did you mean '--model.layers'?"),
        (["predict", "run", "data", "--drws", "3"], "did you mean '--draws'?"),
        (["report", "run", "--uot", "x"], "did you mean '--out'?"),
    ],
)
def test_an_unknown_option_is_answered_with_the_nearest(
    argv: list[str], hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(argv) == cli.WRONG
    said = capsys.readouterr()
    assert said.out == ""
    assert hint in said.err


def test_whoever_stops_reading_is_no_error() -> None:
    command = f"{sys.executable} -m engnn data list --json | head -c 1"
    ended = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, check=False)
    assert ended.stderr == ""
