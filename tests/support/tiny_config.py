"""The tiny configuration that most runs of tests are made of, and the made-up language that they learn."""

import random
from collections.abc import Callable
from pathlib import Path

import yaml

from nmt.config.reading import load_config
from nmt.config.run import Config
from nmt.text.corpus import ParallelText

ConfigMaker = Callable[..., Config]
WORDS = {"Ba": "kip", "De": "lom", "Fi": "mun", "Go": "nar", "Hu": "pes", "ja": "rit", "ke": "sov", "li": "tuk"}


def made_up_text(**sizes: int) -> dict[str, ParallelText]:
    """Splits of a language whose words translate one by one, in reverse order; no sentence is empty."""
    generator = random.Random(5)
    splits = {}
    for split, count in sizes.items():
        sentences = [generator.choices(list(WORDS), k=generator.randint(1, 7)) for _ in range(count)]
        target = [" ".join(WORDS[word] for word in reversed(sentence)) for sentence in sentences]
        splits[split] = ParallelText([" ".join(sentence) for sentence in sentences], target)
    return splits


def write_splits(folder: Path, text: dict[str, ParallelText]) -> None:
    """Write the files `train.src`, `train.tgt`, and so on."""
    for split, pairs in text.items():
        (folder / f"{split}.src").write_text("".join(f"{line}\n" for line in pairs.source), encoding="utf-8")
        (folder / f"{split}.tgt").write_text("".join(f"{line}\n" for line in pairs.target), encoding="utf-8")


def config_maker(folder: Path, corpus: Path) -> ConfigMaker:
    """`config_maker(…)("a.b=VALUE", …)`: a run on these files that takes a second, with these fields changed."""

    def side(language: str, ending: str) -> dict[str, object]:
        paths = {split: str(corpus / f"{split}.{ending}") for split in ("train", "validation", "test")}
        return {"language": language, "tokenizer": "whitespace", **paths}

    values = {
        "name": "tiny",
        "output_dir": str(folder / "runs"),
        "data": {
            "corpus": "files",
            "folder": str(folder / "data"),
            "source": side("de", "src"),
            "target": side("en", "tgt"),
        },
        "model": {
            "embedding_size": 6,
            "embedding_dropout": 0.2,
            "encoder": {"hidden_size": 5, "dropout": 0.2},
            "decoder": {"hidden_size": 7, "dropout": 0.2},
        },
        "training": {
            "max_epochs": None,
            "max_updates": 20,
            "batch_size": 6,
            "learning_rate": 0.01,
            "log_every": 4,
            "device": "cpu",
            "precision": "float32",
            "threads": 1,
        },
        "search": {"beam_size": 2, "max_length": 8, "batch_size": 4, "precision": "float32"},
    }
    path = folder / "tiny.yaml"
    path.write_text(yaml.safe_dump(values), encoding="utf-8")
    return lambda *overrides: load_config(path, overrides)
