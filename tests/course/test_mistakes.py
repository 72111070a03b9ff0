"""nmt course break: each mistake changes what nano_nmt.py does, any mend is accepted, and no other change."""

import runpy
from functools import cache

import pytest

from nmt.course import mistakes
from nmt.system.errors import UserError

RIGHT = (mistakes.FOLDER / "nano_nmt.py").read_text(encoding="utf-8")
MENDS = {  # others than the lines of nano_nmt.py
    "01": ("scores.masked_fill(", "scores.masked_fill_("),
    "09": ("target_output.flatten(), ", "target_output.flatten(), ignore_index=PAD, "),
    "14": ("    model.load_state_dict(best_weights)\n", "    model.load_state_dict(best_weights)\n    model.eval()\n"),
}
DEFECTS = {  # others than the fifteen
    "optimizer.zero_grad()": "pass",
    'if attention == "bahdanau":\n            self.query': 'if attention != "none":\n            self.query',
    ".masked_fill(ended, PAD)": "",
    "value < best": "value > best",
    "lowercase=True": "lowercase=False",
    "for start in range(0, len(order), size)": "for start in range(0, len(order) - size + 1, size)",
    "            model.train()\n": "",
}


@pytest.fixture(scope="module")
def different(tmp_path_factory):
    """The probes in which a program differs from the right one."""
    probes, folder = runpy.run_path(str(mistakes.MISTAKES / "probes.py")), tmp_path_factory.mktemp("programs")

    @cache
    def behaviour(text):
        (folder / "program.py").write_text(text, encoding="utf-8")
        return probes["behaviour"](folder / "program.py")

    one = behaviour(RIGHT)
    return lambda text: [name for name in one if not probes["same"](behaviour(text)[name], one[name])]


@pytest.mark.parametrize("number", [path.name[:2] for path in sorted(mistakes.MISTAKES.glob("*.patch"))])
def test_each_mistake_shows_and_can_be_mended_otherwise(number, different):
    text = mistakes.broken(number)
    assert different(text)
    if number in MENDS:
        assert different(text.replace(*MENDS[number])) == []


@pytest.mark.parametrize("line", DEFECTS)
def test_other_defects_show(line, different):
    assert RIGHT.count(line) == 1
    assert different(RIGHT.replace(line, DEFECTS[line]))


def test_a_broken_program_is_written_once_and_checked(tmp_path, capsys, monkeypatch):
    path = tmp_path / "broken_13.py"
    assert mistakes.write_broken("13", tmp_path) == 0
    assert {"broken_13.py", "symptoms_13.md", "symptoms_13.png"} == {file.name for file in tmp_path.iterdir()}
    with pytest.raises(UserError, match=r"broken_13\.py exists: remove it, or name another folder"):
        mistakes.write_broken("13", tmp_path)
    assert mistakes.check_mend(path) == 1
    assert "the mistake is still in it" in capsys.readouterr().out
    path.write_text(RIGHT.replace("optimizer.zero_grad()", "pass"), encoding="utf-8")
    assert mistakes.check_mend(path) == 1
    assert "training is neither right nor as it was" in capsys.readouterr().out
    path.write_text("while True: pass", encoding="utf-8")
    monkeypatch.setattr(mistakes, "SECONDS", 1)
    assert mistakes.check_mend(path) == 1
    assert "Does a loop not end?" in capsys.readouterr().out
    with pytest.raises(UserError, match="there is no mistake 16: the mistakes are 1 to 15"):
        mistakes.broken("16")
