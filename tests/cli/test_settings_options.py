"""What `train` makes of `--recipe`, `--config` and `--set` together."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, get_args

import pytest

from reshuffle.cli.inputs import settings_of
from reshuffle.cli.main import main
from reshuffle.cli.options import RECIPE_NAMES, add_settings_options
from reshuffle.errors import ReshuffleError
from reshuffle.learning.recipes import RECIPES, Recipe
from reshuffle.learning.settings import Settings

if TYPE_CHECKING:
    from pathlib import Path


def settings(*options: str) -> Settings:
    parser = argparse.ArgumentParser()
    add_settings_options(parser)
    return settings_of(parser.parse_args(options))


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "a.toml"
    path.write_text("num_slots = 7\nseed = 5\n", encoding="utf-8")
    return path


def test_a_recipe_that_is_set_leaves_the_file_in_force(config: Path) -> None:
    expected = Settings.of("paper", num_slots=7, seed=5)
    assert settings("--config", str(config), "--recipe", "paper") == expected
    assert settings("--config", str(config), "--set", "recipe=paper") == expected
    last = settings("--config", str(config), "--set", "num_slots=8", "--set", "recipe=paper")
    assert last == expected.changed(num_slots=8)


def test_a_recipe_that_is_set_goes_before_that_of_the_file(config: Path) -> None:
    config.write_text('recipe = "best"\nnum_slots = 7\n', encoding="utf-8")
    assert settings("--config", str(config), "--set", "recipe=paper") == Settings.of("paper", num_slots=7)
    assert settings("--config", str(config), "--recipe", "paper") == Settings.of("best", num_slots=7)


def test_a_recipe_that_is_set_without_a_file() -> None:
    assert settings("--set", "recipe=paper", "--set", "seed=2") == Settings.of("paper", seed=2)
    assert settings("--recipe", "paper", "--set", "recipe=paper") == Settings.of("paper")


def test_every_recipe_can_be_chosen() -> None:
    assert tuple(RECIPES) == RECIPE_NAMES == get_args(Recipe)
    for name in RECIPES:
        assert settings("--recipe", name) == Settings.of(name)


def test_two_recipes_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["train", "no.tsv", "-o", str(tmp_path / "new"), "--recipe", "paper", "--set", "recipe=best"])
    assert caught.value.code == 2
    assert "--recipe paper and --set recipe=best: give one of the two" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            "recipe=papers",
            "unknown recipe 'papers'; did you mean 'paper'?\n  hint: one of best, best-0.1, paper",
        ),
        ("recipe=", "unknown recipe ''\n  hint: one of best, best-0.1, paper"),
        ("recipe=5", "setting 'recipe' is 5; it must be one of best, best-0.1, paper"),
    ],
)
def test_a_recipe_that_there_is_not(given: str, message: str, config: Path) -> None:
    for options in ([], ["--config", str(config)]):
        with pytest.raises(ReshuffleError) as caught:
            settings(*options, "--set", given)
        assert str(caught.value) == message


@pytest.mark.parametrize("given", [["--set", "margin=2"], ["--config", "a.toml"]])
def test_a_setting_without_effect_is_told_on_stderr(
    given: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "facts.tsv").write_text("a\tr\tb\nb\tr\tc\n", encoding="utf-8")
    (tmp_path / "a.toml").write_text("margin = 2\nseed = 3\n", encoding="utf-8")
    small = ["--set", "num_slots=2", "--set", "max_epochs=0", "--device", "cpu"]
    assert main(["train", "facts.tsv", "-o", "model", *small, *given]) == 0
    out, err = capsys.readouterr()
    note = "note: margin has no effect with loss = 'softmax' (it is for the margin ranking loss)"
    assert err.splitlines().count(note) == 1
    assert err.count("no effect") == 1
    assert "no effect" not in out
