"""Several seeds of each mechanism: which runs there are, their means, and the test against the base."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from nmt.cli import main
from nmt.config.run import Config
from nmt.evaluation import checkpoints
from nmt.lab import compare, page, result, runs
from nmt.lab.configs import load_configs
from nmt.lab.seeds import mechanisms, paired_p, two_sided_p
from nmt.text.corpus import ParallelText

NAMES = ["none", "luong_general", "luong_general_lstm"]
BLEU = {"none": [80.0, 81.0, 82.0], "luong_general": [90.0, 92.0, 94.0], "luong_general_lstm": [91.0, 94.0, 94.0]}


def test_p_is_that_of_the_tables_and_pairs_are_tested_by_their_differences() -> None:
    for t, freedom, p in ((12.706, 1, 0.05), (4.303, 2, 0.05), (3.169, 10, 0.01), (1.984, 100, 0.05), (0.0, 3, 1.0)):
        assert two_sided_p(t, freedom) == pytest.approx(p, rel=1e-3)
        assert two_sided_p(-t, freedom) == two_sided_p(t, freedom)
    assert paired_p([1.0, 2.0, 3.0]) == pytest.approx(two_sided_p(2 * 3**0.5, 2))
    assert (paired_p([1.0]), paired_p([0.5, 0.5]), paired_p([0.0, 0.0])) == (None, 0, 1)


def test_each_seed_is_a_run_of_its_own_and_the_first_keeps_its_folder() -> None:
    configs = load_configs(["ablation/none", "ablation/luong_general"], ["training.seed=5"], seeds=2)
    names = ["none", "luong_general", "none-seed6", "luong_general-seed6"]
    assert [(c.name, c.training.seed) for c in configs] == list(zip(names, (5, 5, 6, 6), strict=True))
    assert configs[:2] == load_configs(["ablation/none", "ablation/luong_general"], ["training.seed=5"])


def measured(config: Config) -> result.Result:
    name, _, _ = config.name.partition("-seed")
    bleu = BLEU[name][config.training.seed - 1]
    values = {"bleu": bleu, "bleu_low": bleu - 1, "bleu_high": bleu + 1, "signature": "s", "by_length": ()}
    values |= {"parameters": 7, "perplexity": 1.5, "alignment": None, "target_tokens_per_second": 100.0, "minutes": 2.0}
    return result.Result(config=config, machine="m", right_sentence=0.75 if name == "luong_general" else None, **values)


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the runs so far, none of which takes any time."""
    ran: list[str] = []

    def run_all(configs: Sequence[Config], *_: object) -> list[runs.Failure]:
        for config in configs:
            if not result.path_of(config).exists():
                ran.append(config.name)
                result.folder_of(config).mkdir(parents=True)
                result.write(measured(config), result.path_of(config))
        return []

    monkeypatch.setattr(runs, "run_all", run_all)
    monkeypatch.setattr(page, "figures", lambda *_: {})
    monkeypatch.setattr(
        compare, "test_set_of", lambda _: checkpoints.TestSet("corpus", "test", ParallelText(["a"], ["b"]), None)
    )
    return ran


def command(folder: Path) -> list[str]:
    configs = [f"ablation/{name}" for name in NAMES]
    return ["ablation", *configs, "--output", str(folder / "page"), "--set", f"output_dir={folder / 'runs'}"]


def test_the_page_has_means_and_a_test(tmp_path: Path, ran: list[str]) -> None:
    """Finished runs are not run again; a mechanism's seeds share a row."""
    assert main([*command(tmp_path), "--seeds", "2"]) == 0
    assert ran == [*NAMES, *(f"{name}-seed2" for name in NAMES)]
    assert main([*command(tmp_path), "--seeds", "3"]) == 0
    assert ran[6:] == [f"{name}-seed3" for name in NAMES]
    text = (tmp_path / "page" / "README.md").read_text(encoding="utf-8")
    rows: dict[str, list[str]] = {}
    for line in text.split("\n"):
        if line.startswith("| "):
            cells = line.strip("| ").split(" | ")
            rows.setdefault(cells[0], cells)  # the first table's
    assert rows["mechanism"][5:7] == ["BLEU", "difference (p)"]
    assert rows["none"][5] == "81.00 ± 1.00"
    assert rows["luong_general"][5:7] == ["92.00 ± 2.00", "–"]
    assert rows["luong_general_lstm"][4:7] == ["LSTM", "93.00 ± 1.73", f"+1.00 ({two_sided_p(3**0.5, 2):.3f})"]
    assert rows["luong_general"][8] == "75.0"
    assert "seeds 1, 2, 3" in text
    assert "mean BLEU to luong_general;" in text
    three = load_configs(["ablation/none", "ablation/luong_general"], [], seeds=2)[:3]
    assert "seeds 1, 2 (fewer: luong_general);" in page._runs(mechanisms(list(map(measured, three))))[0]


def test_results_beside_the_page_are_enough_to_go_on(
    tmp_path: Path, ran: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command(tmp_path), "--seeds", "2"]) == 0
    table = (tmp_path / "page" / "README.md").read_text(encoding="utf-8")
    (there := tmp_path / "elsewhere").mkdir()
    (tmp_path / "page").rename(there / "page")
    assert main([*command(there), "--seeds", "2"]) == 0
    assert ran == [*NAMES, *(f"{name}-seed2" for name in NAMES)]  # by the first command
    assert f"6 results are from {there / 'page' / 'results'}; to train" in capsys.readouterr().out
    assert (there / "page" / "README.md").read_text(encoding="utf-8") == table.replace(str(tmp_path), str(there))

    shutil.rmtree(there / "runs")
    assert main([*command(there), "--set", "training.max_updates=5"]) == 2
    assert "page/results/none.json is of a run with another training.max_updates" in capsys.readouterr().err
    assert not (there / "runs").exists()
