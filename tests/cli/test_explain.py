"""`reshuffle explain`: a proof, a no, or a name that nobody knows."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from reshuffle.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    rules, facts = tmp_path / "family.rules", tmp_path / "facts.tsv"
    rules.write_text("parent(X, Y) & parent(Y, Z) -> grandparent(X, Z)\n", encoding="utf-8")
    facts.write_text(
        "ann\tparent\tbob\nbob\tparent\tcleo\nann\tparent\tbea\nbea\tparent\tcleo\n", encoding="utf-8"
    )
    return [str(rules), str(facts)]


@pytest.mark.parametrize("engine", ["auto", "chase"])
def test_a_proof_tree(files, engine, capsys):
    assert main(["explain", *files, "ann", "grandparent", "cleo", "--engine", engine]) == 0
    first, *leaves = capsys.readouterr().out.splitlines()
    assert first == "grandparent(ann, cleo)    [parent(X, Y) & parent(Y, Z) -> grandparent(X, Z)]"
    assert [leaf.split()[-1] for leaf in leaves] == ["fact", "fact"]


def test_several_proofs_as_json(files, capsys):
    assert main(["explain", *files, "ann", "grandparent", "cleo", "--most", "5", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["follows"] is True and len(data["proofs"]) == 2


def test_what_does_not_follow_exits_with_1(files, capsys):
    assert main(["explain", *files, "cleo", "grandparent", "ann"]) == 1
    assert capsys.readouterr().out == (
        "grandparent(cleo, ann) does not follow (exact)\n\nnearest:\n"
        "parent(X, Y) & parent(Y, Z) -> grandparent(X, Z)\n"
        "  missing: parent(cleo, ?)\n"
        "  missing: parent(?, ann)\n"
    )


@pytest.mark.parametrize(
    ("triple", "message"),
    [
        (("anne", "parent", "bob"), "unknown entity 'anne'; did you mean 'ann'"),
        (("ann", "grandparents", "bob"), "unknown relation 'grandparents'; did you mean 'grandparent'"),
    ],
)
def test_unknown_names_exit_with_2(files, triple, message, capsys):
    assert main(["explain", *files, *triple]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("most", ["0", "-1"])
def test_no_proof_asked_for_is_not_an_answer(files, most, capsys):
    assert main(["explain", *files, "ann", "grandparent", "cleo", "--most", most]) == 2
    told = capsys.readouterr()
    assert (told.out, told.err) == ("", f"--most {most} asks for no proof\n  hint: give 1 or more\n")


def test_rules_are_not_hardened(files, capsys):
    assert main(["explain", *files, "ann", "grandparent", "cleo", "--hard"]) == 2
    assert capsys.readouterr().err.startswith(f"{files[0]}: --hard is for matrices, and these are rules\n")
