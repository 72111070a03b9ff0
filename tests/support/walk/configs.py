"""Configs: every field with every odd value through `nmt train --check`, several at once, and YAML of any kind."""

from __future__ import annotations

from pathlib import Path
from random import Random

import yaml

from nmt.cli import COMMANDS, module_of
from nmt.config.reading import load_config, sections, to_yaml
from nmt.config.run import Config
from support.cli import write_config, write_corpus
from support.walk.family import Try, command, refused
from support.walk.odd import ODD, SYNTAX, altered, text

FIELDS = [f"{at}.{name}".lstrip(".") for at, section in sections() for name in section.all_fields()]
FIELDS += ["x", "data.x", "model.attention.x.y"]
_LIKELY = ["1", "2", "4", "0.5", "0.9", "true", "false", "null", "x", "de", "luong", "[]", "0"]
_KEYS = sorted({part for field in FIELDS for part in field.split(".")})


def begin_fields(folder: Path) -> tuple[Try, int]:
    """Every field × every odd value, as `nmt train CONFIG --check --set FIELD=VALUE`."""
    path = str(write_config(folder))

    def attempt(number: int, _chance: Random) -> bool:
        field, value = FIELDS[number // len(ODD)], ODD[number % len(ODD)]
        refusal, _ = command("train", path, "--check", "--set", f"{field}={value}")
        return refusal

    return attempt, len(FIELDS) * len(ODD)


def begin_settings(folder: Path) -> tuple[Try, int]:
    """Several fields with odd values, as they are read; what is accepted is written and read again."""
    path = folder / "name.yaml"
    path.write_text("name: good\n", encoding="utf-8")

    def override(chance: Random) -> str:
        value = chance.choice([chance.choice(ODD), chance.choice(_LIKELY), chance.choice(_LIKELY), text(chance)])
        likely = f"{chance.choice(FIELDS)}={value}"
        return chance.choice([text(chance), f"{text(chance)}={text(chance)}", *[likely] * 18])

    return lambda _, chance: _read_twice(path, [override(chance) for _ in range(chance.randrange(1, 4))]), 0


def _read_twice(path: Path, overrides: list[str]) -> bool:
    read: list[Config] = []
    if refused(lambda: read.append(load_config(path, overrides)), path, *(f"--set {text}" for text in overrides)):
        return True
    again = path.with_name("again.yaml")
    again.write_text(to_yaml(read[0]), encoding="utf-8")
    assert load_config(again) == read[0]
    return False


def begin_yaml(folder: Path) -> tuple[Try, int]:
    """YAML and what is not quite YAML as a config file."""
    path = folder / "any.yaml"
    good = yaml.safe_dump({k: v for k, v in write_corpus(folder).items() if k != "data"}).encode()

    def attempt(_: int, chance: Random) -> bool:
        path.write_bytes(_any_yaml(chance, good))
        return _read_twice(path, [])

    return attempt, 0


def _any_yaml(chance: Random, good: bytes) -> bytes:
    match chance.randrange(6):
        case 0:
            return chance.randbytes(chance.randrange(80))
        case 1:
            return "".join(chance.choices(SYNTAX, k=chance.randrange(50))).encode()
        case 2:
            return altered(good, chance)
        case 3:
            return (text(chance) + "\n" + text(chance)).encode("utf-16" if chance.random() < 0.2 else "utf-8")
    lines = ["name: good"]
    for _ in range(chance.randrange(6)):
        value = chance.choice([chance.choice(ODD), chance.choice(_LIKELY), "", ""])
        lines.append("  " * chance.randrange(3) + f"{chance.choice(_KEYS)}: {value}")
    return "\n".join(lines).encode("utf-8", "surrogatepass")


def begin_options(folder: Path) -> tuple[Try, int]:
    """Every option of every command with every odd value, and arguments of any kind."""
    path = str(write_config(folder))
    assert command("train", path)[0] is False
    best = str(folder / "runs" / "tiny" / "best.safetensors")
    needed = {
        "train": [path, "--check"],
        "translate": [best, "ba de"],
        "evaluate": [best, "--split", "validation", "--data-folder", str(folder / "data")],
        "average": [best],
        "migrate": [best, "new"],
        "ablation": ["missing.yaml"],
        "export": [best],
        "push": [best, "no repository"],
        "serve": ["missing.safetensors"],  # or it would serve
    }
    cases = []
    for name in COMMANDS:
        for action in module_of(name).parser()._actions:
            for option in sorted({*action.option_strings} - {"-h", "--help", "--attention"}):
                cases += [(name, option, value) for value in (ODD if action.nargs != 0 else [""])]

    def attempt(number: int, chance: Random) -> bool:
        if number < len(cases):
            name, option, value = cases[number]
            values = [] if not value and option in ("--check", "--half", "--int8") else [value]
            arguments = [name, *needed.get(name, []), option, *values]
        else:
            name = chance.choice([*COMMANDS, text(chance)])
            arguments = [name, *(text(chance) for _ in range(chance.randrange(4)))]
            arguments.insert(1, best if name == "translate" else "missing.yaml")  # or all mechanisms would be trained
        try:
            refusal, _ = command(*arguments)
        except SystemExit as end:  # --help and --version
            if end.code:
                raise
            return False
        return refusal

    return attempt, len(cases)
