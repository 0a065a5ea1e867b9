"""What every verb of `reshuffle` has in common: streams, options before and after the verb, exit status."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib import import_module

import pytest

import reshuffle
from reshuffle.cli.console import Console
from reshuffle.cli.main import VERBS, build_parser, main
from reshuffle.errors import InputError, NotExpressibleError

SLOW_MODULES = ["torch", "pyarrow", "numba", "numpy", "pandas", "polars", "tqdm"]


def stopped(arguments: list[str]) -> object:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    return caught.value.code


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert stopped(["--version"]) == 0
    assert capsys.readouterr().out == f"reshuffle {reshuffle.__version__}\n"


def test_a_verb_that_went_names_its_successor(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["search", "facts.tsv", "-o", "out"], ["-q", "search", "--help"]):
        assert stopped(arguments) == 2
        assert "docs/how-to/train.md does the same with ten lines of optuna" in capsys.readouterr().err


def test_help_tells_a_newcomer_what_goes_in_and_names_every_verb(capsys: pytest.CaptureFixture[str]) -> None:
    assert stopped(["--help"]) == 0
    out = capsys.readouterr().out
    assert "bornIn(X, Y) & cityIn(Y, Z) -> citizenOf(X, Z)" in out
    assert "Exit status: 0 yes or done" in out
    for verb in VERBS:
        # argparse may wrap the line, so only its beginning is looked for.
        beginning = " ".join(import_module(f"reshuffle.cli.verbs.{verb}").HELP.split()[:2])
        assert re.search(rf"^    {verb} +{re.escape(beginning)}", out, re.MULTILINE)


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], *([verb, "--help"] for verb in VERBS)])
def test_help_imports_nothing_slow(arguments: list[str]) -> None:
    script = (
        "import sys\n"
        "from reshuffle.cli.main import main\n"
        "try:\n"
        f"    main({arguments!r})\n"
        "except SystemExit:\n"
        f"    print([name for name in {SLOW_MODULES!r} if name in sys.modules], file=sys.stderr)\n"
    )
    finished = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert finished.stderr == "[]\n"


def test_no_verb_is_bad_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert stopped([]) == 2
    assert "VERB" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "verb", "told"),
    [
        ("train f.tsv -o m --epochs 2", "train", "--epochs 2; did you mean --set max_epochs=2?"),
        ("train f.tsv -o m --epochs=2", "train", "--epochs=2; did you mean --set max_epochs=2?"),
        ("train --num-slots 30 f.tsv -o m", "train", "--num-slots; did you mean --set num_slots=30?"),
        ("train f.tsv -o m --margn", "train", "--margn; did you mean --set margin=VALUE?"),
        (
            "train f.tsv -o m --wd 0.1",
            "train",
            "--wd 0.1\n  hint: settings are given as --set NAME=VALUE, such as --set max_epochs=2",
        ),
        ("check a.rules --bond 2", "check", "--bond 2; did you mean --bound?"),
        ("compile a.rules b.rules -o c.json", "compile", "b.rules"),
        ("check a.rules --xyz", "check", "--xyz"),
        ("bench paper --seeds 1 --varient x", "bench paper", "--varient x; did you mean --variant?"),
        ("data list --foo", "data", "--foo"),
    ],
)
def test_unknown_arguments_are_told_by_their_verb(
    arguments: str, verb: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert stopped(arguments.split()) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"usage: reshuffle {verb} [-h]")
    assert err.endswith(f"\nreshuffle {verb}: error: unrecognized arguments: {told}\n")


def test_unknown_arguments_are_told_without_the_extra_to_learn(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "reshuffle.learning.settings", None)
    assert stopped(["train", "f.tsv", "-o", "m", "--epochs", "2"]) == 2
    assert "--epochs 2\n  hint: settings are given as --set NAME=VALUE" in capsys.readouterr().err


def test_what_stands_before_the_verb_is_told_by_all(capsys: pytest.CaptureFixture[str]) -> None:
    assert stopped(["--foo", "data", "list"]) == 2
    assert capsys.readouterr().err.endswith("reshuffle: error: unrecognized arguments: --foo\n")


@pytest.mark.parametrize(
    "arguments", [["--json", "data", "list"], ["data", "--json", "list"], ["data", "list", "--json"]]
)
def test_json_works_before_and_after_the_verb(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 0
    assert isinstance(json.loads(capsys.readouterr().out), list)


@pytest.mark.parametrize("option", ["quiet", "verbose", "json"])
@pytest.mark.parametrize("after", [False, True])
def test_common_options_work_on_both_sides_of_every_verb(option: str, after: bool) -> None:
    parse = build_parser().parse_args
    flag = [f"--{option}"]
    arguments = ["data", "list", *flag] if after else [*flag, "data", "list"]
    assert getattr(parse(arguments), option) is True
    assert not hasattr(parse(["data", "list"]), option)


def failing_with(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> int:
    def fail() -> None:
        raise error

    monkeypatch.setattr("reshuffle.data.load.data_cards", fail)
    return main(["data", "list"])


def _interrupted_in_compiled_code() -> SystemError:
    """As numba's kernels say it when the signal arrives while they return."""
    error = SystemError("returned a result with an exception set")
    error.__cause__ = KeyboardInterrupt()
    return error


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (NotExpressibleError("no geometry", remedy="a bound"), 1, "no geometry\n  hint: a bound\n"),
        (InputError("bad data"), 2, "bad data\n"),
        (KeyboardInterrupt(), 130, "interrupted\n"),
        (_interrupted_in_compiled_code(), 130, "interrupted\n"),
    ],
    ids=["negative", "bad data", "interrupted", "interrupted in compiled code"],
)
def test_errors_go_to_stderr_and_set_the_exit_status(
    error: BaseException,
    status: int,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert failing_with(error, monkeypatch) == status
    assert capsys.readouterr() == ("", message)


def test_a_mistake_of_ours_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ZeroDivisionError):
        failing_with(ZeroDivisionError(), monkeypatch)


def test_a_closed_pipe_ends_without_a_word() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [
        sys.executable,
        "-c",
        "from reshuffle.cli.main import entry_point; entry_point()",
        "data",
        "list",
    ]
    finished = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert (finished.returncode, finished.stderr) == (0, "")


@pytest.mark.parametrize(
    ("raised", "status", "told"),
    [("KeyboardInterrupt", 130, "interrupted\n"), ("RuntimeError('a slip')", 1, "RuntimeError: a slip\n")],
)
def test_a_closed_pipe_hides_nothing_else(raised: str, status: int, told: str) -> None:
    """Ctrl-C ends the reader as well, and what is left in the buffer finds nobody."""
    reader, writer = os.pipe()
    os.close(reader)
    program = f"""if True:
        from reshuffle.cli.verbs import data
        from reshuffle.cli.main import entry_point
        def run(arguments, console):
            console.out.write("a line that stays in the buffer")
            raise {raised}
        data.run = run
        entry_point()
    """
    command = [sys.executable, "-c", program, "data", "list"]
    buffered = {**os.environ, "PYTHONUNBUFFERED": ""}
    finished = subprocess.run(
        command, stdout=writer, stderr=subprocess.PIPE, text=True, check=False, env=buffered
    )
    os.close(writer)
    assert finished.returncode == status
    assert finished.stderr.endswith(told)


@pytest.mark.parametrize(
    ("verbosity", "shown"), [(-1, "wrong\n"), (0, "note\nwrong\n"), (1, "note\nmore\nwrong\n")]
)
def test_messages_follow_the_verbosity_and_leave_stdout_alone(
    verbosity: int, shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    console = Console(verbosity=verbosity)
    console.message("note")
    console.detail("more")
    console.error("wrong")
    assert capsys.readouterr() == ("", shown)


def test_progress_counts_in_silence_where_no_one_watches(capsys: pytest.CaptureFixture[str]) -> None:
    with Console().progress("reading", total=3) as advance:
        advance(3)
    assert capsys.readouterr() == ("", "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device of Linux")  # noqa: PTH110
@pytest.mark.parametrize("arguments", [["data", "list"], ["data", "show", "families"]])
def test_a_full_disk_is_one_error(arguments: list[str]) -> None:
    command = [sys.executable, "-c", "from reshuffle.cli.main import entry_point; entry_point()", *arguments]
    with open("/dev/full", "w") as full:  # noqa: PTH123
        finished = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (finished.returncode, finished.stderr) == (
        2,
        "the results cannot be written: No space left on device\n"
        "  hint: make room on the disk, and run it again\n",
    )


def test_a_file_without_access_is_one_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert failing_with(PermissionError(13, "Permission denied", "x.tsv"), monkeypatch) == 2
    assert capsys.readouterr().err == (
        "x.tsv: no access: Permission denied\n  hint: check the path and its permissions, and run it again\n"
    )
