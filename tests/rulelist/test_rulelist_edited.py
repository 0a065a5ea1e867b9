"""An edited `model.rules`: what a person wrote survives a new fit, and a file that ends early is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from reshuffle.cli.main import main
from reshuffle.errors import InputError
from reshuffle.rulelist import load_rule_model, save_rule_model
from reshuffle.rulelist.model_text import model_text, parse_rule_model

FACTS = [(f"a{n}", "r", f"b{n}") for n in range(20)] + [(f"a{n}", "s", f"b{n}") for n in range(18)]
FACTS += [(f"b{n}", "t", f"a{n}") for n in range(15)] + [(f"a{n}", "x#y", f"b{n}") for n in range(9)]


@pytest.fixture
def trained(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("facts.tsv").write_text("".join("\t".join(fact) + "\n" for fact in FACTS))
    assert main(["train", "facts.tsv", "-o", "model", "--recipe", "rules"]) == 0
    return tmp_path / "model" / "model.rules"


def refitted(path):
    assert main(["train", "facts.tsv", "-o", "model", "--recipe", "rules", "--refit"]) == 0
    return path.read_text()


def test_a_fit_without_edits_leaves_the_file(trained):
    first = refitted(trained)
    assert refitted(trained) == first


def test_comments_and_struck_lines_survive_a_new_fit(trained):
    lines = refitted(trained).splitlines()
    start = lines.index("[rules]")
    rules = [n for n in range(start, lines.index("[distances]")) if "->" in lines[n]]
    assert len(rules) >= 4
    struck, noted, last = (lines[rules[n]] for n in (0, 1, -1))
    hashed = next(lines[n] for n in rules[2:-1] if '"x#y"' in lines[n] or "x#y" in lines[n])
    edited = []
    for line in lines:
        if line == "[end]":
            edited.append("# the end of the roles")
        if line == noted:
            edited += ["# why I keep this", "#" + "not a rule -> at all"]
        edited.append({struck: f"# {line}", noted: f"{line} # sure"}.get(line, line))
        edited[-1] += "  # a note <b>" if line == hashed else ""
        if line == last:
            edited.append("# behind the last rule")
    edited[0:0] = ["# of whom, and when"]
    trained.write_text("\n".join(edited) + "\n")
    kept = [one.rule for one in load_rule_model(trained).rules]
    text = refitted(trained)
    assert [one.rule for one in parse_rule_model(text).rules] == kept
    after = text.splitlines()
    rule = noted.split("\t")[-1]
    at = next(n for n, line in enumerate(after) if rule in line and not line.startswith("#"))
    assert after[at - 3 : at] == [f"# {struck}", "# why I keep this", "#not a rule -> at all"]
    assert after[at].endswith("# sure")
    assert sum(line.endswith("# a note <b>") for line in after) == 1
    behind = after.index("# behind the last rule")
    assert last.split("\t")[-1] in after[behind - 1] and after[behind + 1 : behind + 3] == ["", "[distances]"]
    assert after.count("# of whom, and when") == after.count("# the end of the roles") == 1
    assert after.index("# of whom, and when") < after.index("[model]")
    assert refitted(trained) == text


def test_a_cut_file_is_refused_wherever_it_ends(trained):
    text = trained.read_text()
    assert text.endswith("\n[end]\n")
    whole = len(text.rstrip())
    version = text.index("version\t")
    for at in [*range(version, whole, 37), *range(whole - 20, whole)]:
        with pytest.raises(InputError):
            parse_rule_model(text[:at])
    line = text[: text.index("\n[distances]")]
    with pytest.raises(InputError, match="ends early") as found:
        parse_rule_model(line, file="m")
    assert "[end]" in str(found.value.hint) and str(found.value).startswith("m: ")


def test_files_of_earlier_releases_have_no_end(trained):
    text = trained.read_text()
    old = text.replace("version\t2", "version\t1").replace("\n[end]\n", "")
    assert model_text(parse_rule_model(old)) == model_text(parse_rule_model(text))


def test_nothing_stands_below_the_end(trained):
    text = trained.read_text()
    assert parse_rule_model(text + "# a comment\n")
    with pytest.raises(InputError, match=r"found a line below \[end\]"):
        parse_rule_model(text + "r(X, Y) -> s(X, Y)\n")


def test_remarks_are_kept_in_python(trained):
    model, text = load_rule_model(trained), trained.read_text()
    noted = text.replace("\n[rules]\n", "\n# mine\n[rules]\n")
    save_rule_model(model, trained.parent, remarks_of=noted)
    assert trained.read_text().count("# mine\n") == 1
    save_rule_model(model, trained.parent)
    assert trained.read_text() == text
