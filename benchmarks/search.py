"""How fast models translate, compared with other toolkits: sentences and hypothesis tokens per second.

    python benchmarks/search.py
    python benchmarks/search.py checkpoints/NAME/best.safetensors …
    python benchmarks/search.py --peers PEERS --runners RUNNERS --precisions float32 bf16 int8 --json

Without checkpoints it first trains one model for each mechanism, with the sizes and data of `peers.yaml`, for
`--updates` updates, and keeps them in `checkpoints/` for the next time. The time of a search depends on the length of
the hypotheses, and models trained so briefly write poor ones: compare models with equal training, and compare tokens
rather than sentences.

`Translator.translate` is timed on the raw sentences of Multi30k's test 2016, in batches of 64: tokenisation by spaCy,
encoder, search, detokenisation. Tokens are those of the best hypothesis, end token included. Other toolkits
(`peers.py`) are timed with their own inference on tokenised text, reading and writing included. All take turns, round
after round, after one round that is not counted, and medians are printed. `--json` prints one JSON object.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import peers
import torch

from nmt.config.reading import load_config
from nmt.data.splits import load_split
from nmt.lab.machine import describe_machine
from nmt.registry import PrecisionOption
from nmt.system.device import choose_device
from nmt.training.interruption import StopSignals
from nmt.training.run import run
from nmt.translator import Translator

FIGURES = ("sentences_per_second", "hypothesis_tokens_per_second")
OURS: dict[PrecisionOption, str] = {"float32": "nmt", "bf16": "nmt, bf16", "int8": "nmt, int8"}
Measure = Callable[[], Mapping[str, float]]


def main() -> None:
    options = parse()
    torch.set_num_threads(options.threads)
    with contextlib.redirect_stdout(sys.stderr):  # what training prints is no result
        paths = {path.parent.name: path for path in options.checkpoints} or {
            mechanism: trained(mechanism, options.updates) for mechanism in options.mechanisms
        }
    if len(paths) < len(options.checkpoints):
        raise SystemExit("two of these checkpoints are in folders of the same name: measure them one at a time")
    translators = {name: Translator.load(path, device=options.device) for name, path in paths.items()}
    sentences = load_split(load_config(peers.CONFIG).data, "test").source[: options.sentences]
    results = [
        result
        for name, translator in translators.items()
        for beam_size in options.beams
        for result in measure(name, translator, sentences, beam_size, options)
    ]
    about = {
        "machine": describe_machine(choose_device(options.device)),
        "threads": options.threads,
        "rounds": options.rounds,
        "sentences": len(sentences),
        "batch_size": options.batch,
        "max_length": options.max_length,
        "sizes": {name: sizes(translator) for name, translator in translators.items()},
    }
    if options.json:
        print(json.dumps(about | {"results": results}, indent=2))
    else:
        print_table(about, results)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoints", nargs="*", type=Path, help="measure these models, on Multi30k's test set")
    parser.add_argument("--mechanisms", nargs="+", choices=list(peers.ATTENTION), default=list(peers.ATTENTION))
    parser.add_argument("--updates", type=int, default=300, help="updates of the models that are trained first")
    parser.add_argument("--beams", type=int, nargs="+", default=[1, 5], help="1: greedy search")
    parser.add_argument("--batch", type=int, default=64, help="sentences")
    parser.add_argument("--sentences", type=int, help="only this many sentences of the test set (default: all 1,000)")
    parser.add_argument("--max-length", type=int, default=50, help="the longest hypothesis, in tokens")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--device", default="cpu")
    parser.add_argument(
        "--precisions",
        nargs="+",
        default=["float32"],
        choices=list(OURS),
        help="the precision of nmt's matrix products",
    )
    parser.add_argument("--json", action="store_true")
    peers.add_options(parser)
    parser.add_argument(
        "--train-peers",
        action="store_true",
        help="train the peers first, also for --updates updates; without it their last models are timed, "
        "such as those that training.py has left after few updates",
    )
    return parser.parse_args()


def trained(mechanism: str, updates: int) -> Path:
    """The checkpoint of a mechanism, trained by now."""
    settings = [f"name=search_{mechanism}_{updates}", f"training.max_updates={updates}"]
    config = load_config(peers.CONFIG, [*settings, f"training.validate_every={updates}"])
    config = peers.configured(config, mechanism)
    best = Path(config.output_dir) / config.name / "best.safetensors"
    if not best.exists():
        stop = StopSignals()
        with stop.installed():
            run(config, stop, resume=True)
        if stop.requested:
            raise SystemExit("Stopped; the same command goes on.")
    return best


def measure(
    name: str, translator: Translator, sentences: list[str], beam_size: int, options: argparse.Namespace
) -> list[dict[str, Any]]:
    """The medians of one mechanism and beam: ours, and those of the peers that have the like of it."""
    runs: dict[str, Measure] = {
        OURS[precision]: partial(translate, translator, sentences, beam_size, precision, options)
        for precision in options.precisions
    }
    models = peers.MODELS.get(name, {})
    for peer in peers.installed(options):
        if peer.name in models:
            if options.train_peers and beam_size == options.beams[0]:
                peer.run("train", *models[peer.name], options.updates, threads=options.threads)
            runs[peer.name] = partial(translate_by_peer, peer, models[peer.name], beam_size, options.threads)
    rounds = peers.alternate(runs, options.rounds + 1)
    return [
        {"mechanism": name, "beam": beam_size, "program": program} | peers.medians(figures[1:], FIGURES)
        for program, figures in rounds.items()
    ]


def translate(
    translator: Translator,
    sentences: list[str],
    beam_size: int,
    precision: PrecisionOption,
    options: argparse.Namespace,
) -> dict[str, float]:
    started = time.perf_counter()
    translations = translator.translate(
        sentences,
        beam_size=beam_size,
        max_length=options.max_length,
        batch_size=options.batch,
        precision=precision,
        attention=False,
    )
    seconds = time.perf_counter() - started
    tokens = sum(len(translation.tokens) for translation in translations)
    return dict(zip(FIGURES, (len(sentences) / seconds, tokens / seconds), strict=True))


def translate_by_peer(peer: peers.Peer, model: tuple[str, ...], beam_size: int, threads: int) -> dict[str, float]:
    result = peer.run("translate", *model, beam_size, threads=threads)
    return dict(zip(FIGURES, (result["sents_per_s"], result["hyp_tok_per_s"]), strict=True))


def sizes(translator: Translator) -> dict[str, int]:
    model = translator.model
    return {
        "source_types": len(translator.source.vocabulary),
        "target_types": len(translator.target.vocabulary),
        "embedding": model.decoder.embedding.embedding_dim,
        "encoder": model.encoder.memory_size // 2,
        "decoder": model.decoder.sizes.hidden,
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
    }


def print_table(about: dict[str, Any], results: list[dict[str, Any]]) -> None:
    print(
        f"{about['sentences']} sentences in batches of {about['batch_size']}, at most {about['max_length']} tokens; "
        f"{about['threads']} threads, {about['machine']}; medians of {about['rounds']} rounds"
    )
    for name, numbers in about["sizes"].items():
        print(f"{name}: " + ", ".join(f"{size.replace('_', ' ')} {number:,}" for size, number in numbers.items()))
    print(f"\n{'mechanism':<20}{'beam':>5}  {'program':<18}{'sentences/s':>12}{'tokens/s':>12}{'ours/theirs':>13}")
    ours = 0.0
    for result in results:
        speed, program = result["hypothesis_tokens_per_second"], result["program"]
        ours = speed if program == "nmt" else ours
        ratio = f"{ours / speed:.2f}" if ours and not program.startswith("nmt") else ""
        print(
            f"{result['mechanism']:<20}{result['beam']:>5}  {program:<18}"
            f"{result['sentences_per_second']:>12,.1f}{speed:>12,.0f}{ratio:>13}"
        )


if __name__ == "__main__":
    main()
