"""The wheel, installed into an environment that has the core dependencies and nothing else."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from importlib.metadata import distribution, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import reshuffle

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "reshuffle"
FACTS = "ada\tbornIn\tlondon\nlondon\tcityIn\tuk\n"
RULES = "bornIn(X, Y) & cityIn(Y, Z) -> citizenOf(X, Z)\n"


def run(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "RESHUFFLE"))}
    return subprocess.run(
        [str(part) for part in command], cwd=cwd, env=kept, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy, so that nothing is left in the checkout; without a network."""
    folder = tmp_path_factory.mktemp("wheel")
    shutil.copytree(SOURCE, folder / "src" / "reshuffle", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    built = run(
        *(
            sys.executable,
            "-m",
            "pip",
            "wheel",
            "--no-deps",
            "--no-build-isolation",
            "--quiet",
            "-w",
            "dist",
            ".",
        ),
        cwd=folder,
    )
    assert built.returncode == 0, built.stderr
    (found,) = (folder / "dist").iterdir()
    return found


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of programs of an environment with the wheel and links to its core dependencies."""
    folder = tmp_path_factory.mktemp("environment")
    made = run(sys.executable, "-m", "venv", "--without-pip", folder / "env", cwd=folder)
    assert made.returncode == 0, made.stderr
    programs = folder / "env" / "bin"
    for package in core_dependencies():
        link_package(package, next((folder / "env" / "lib").glob("python*/site-packages")))
    installed = run(
        *(sys.executable, "-m", "pip", "--python", programs / "python", "install", "--quiet", "--no-deps"),
        *("--no-index", "--disable-pip-version-check", wheel),
        cwd=folder,
    )
    assert installed.returncode == 0, installed.stderr
    return programs


def core_dependencies() -> set[str]:
    """What an install without extras brings along."""
    found: set[str] = set()
    waiting = ["reshuffle"]
    while waiting:
        for line in requires(waiting.pop()) or []:
            needed = Requirement(line)
            if (needed.marker is None or needed.marker.evaluate({"extra": ""})) and needed.name not in found:
                found.add(needed.name)
                waiting.append(needed.name)
    return found


def link_package(name: str, target: Path) -> None:
    files = distribution(name).files or []
    for top in {file.parts[0] for file in files if file.parts[0] not in {"..", "__pycache__"}}:
        (target / top).symlink_to(Path(str(distribution(name).locate_file(top))))


def test_the_wheel_holds_every_file_of_the_package_and_the_licence(wheel: Path) -> None:
    held = set(zipfile.ZipFile(wheel).namelist())
    own = {
        f"reshuffle/{path.relative_to(SOURCE).as_posix()}"
        for path in SOURCE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert own - held == set()
    assert not any("__pycache__" in name for name in held)
    assert "reshuffle/py.typed" in held
    assert f"reshuffle-{reshuffle.__version__}.dist-info/licenses/LICENSE" in held
    assert {name.split("/")[0] for name in held} == {
        "reshuffle",
        f"reshuffle-{reshuffle.__version__}.dist-info",
    }


def test_the_environment_has_no_extra(environment: Path, tmp_path: Path) -> None:
    found = run(environment / "python", "-c", "import torch", cwd=tmp_path)
    assert "No module named 'torch'" in found.stderr


def test_reasoning_works(environment: Path, tmp_path: Path) -> None:
    (tmp_path / "facts.tsv").write_text(FACTS)
    (tmp_path / "my.rules").write_text(RULES)
    found = run(environment / "reshuffle", "infer", "my.rules", "facts.tsv", cwd=tmp_path)
    assert (found.returncode, found.stdout) == (0, "ada\tcitizenOf\tuk\n")
    found = run(environment / "reshuffle", "--version", cwd=tmp_path)
    assert found.stdout == f"reshuffle {reshuffle.__version__}\n"


def test_a_rule_model_learns_and_predicts(environment: Path, tmp_path: Path) -> None:
    people = range(30)
    facts = "".join(f"p{n}\tbornIn\tc{n % 5}\np{n}\tcitizenOf\tl{n % 5}\n" for n in people)
    (tmp_path / "facts.tsv").write_text(facts + "".join(f"c{n}\tcityIn\tl{n}\n" for n in range(5)))
    (tmp_path / "more.tsv").write_text("p99\tbornIn\tc1\nc1\tcityIn\tl1\nc2\tcityIn\tl2\n")
    found = run(
        environment / "reshuffle", "train", "facts.tsv", "-o", "list", "--recipe", "rules", cwd=tmp_path
    )
    assert found.returncode == 0, found.stderr
    asked = ("--head", "p99", "--relation", "citizenOf", "--top", "1", "-q")
    found = run(environment / "reshuffle", "predict", "list", "more.tsv", *asked, cwd=tmp_path)
    assert found.returncode == 0, found.stderr
    assert "p99   citizenOf  l1" in found.stdout


def test_what_is_embedded_can_be_read(environment: Path, tmp_path: Path) -> None:
    found = run(environment / "reshuffle", "data", "show", "families", cwd=tmp_path)
    assert found.returncode == 0, found.stderr
    found = run(environment / "reshuffle", "data", "list", cwd=tmp_path)
    assert "WN18RR-v1" in found.stdout


def test_an_extra_that_is_missing_is_named(environment: Path, tmp_path: Path) -> None:
    (tmp_path / "facts.tsv").write_text(FACTS)
    found = run(environment / "reshuffle", "train", "facts.tsv", "-o", "model", cwd=tmp_path)
    assert (found.returncode, found.stdout) == (2, "")
    assert found.stderr == (
        "this needs torch, which is not installed\n"
        "  hint: in a checkout of reshuffle: pip install -e '.[learn]'\n"
    )
    (tmp_path / "facts.nt").write_text("<urn:a> <urn:r> <urn:b> .\n")
    (tmp_path / "my.rules").write_text(RULES)
    found = run(environment / "reshuffle", "infer", "my.rules", "facts.nt", cwd=tmp_path)
    assert found.returncode == 2
    assert "pip install -e '.[rdf]'" in found.stderr


def test_every_public_name_that_needs_no_extra_is_there(environment: Path, tmp_path: Path) -> None:
    code = (
        "import reshuffle as rs\nfor n in rs.__all__:\n    if n != 'Reshuffle': getattr(rs, n)\nprint('all')"
    )
    found = run(environment / "python", "-c", code, cwd=tmp_path)
    assert (found.stdout, found.stderr) == ("all\n", "")
