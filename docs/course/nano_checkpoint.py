"""Models that were trained in nmt's playground, for nano_nmt.py: the same equations under other names.

python nano_nmt.py playground-dates.safetensors "12. Mai 1987"
"""

import json
import math
import re
from pathlib import Path
from typing import Any

import torch
from nano_nmt import EOS, PAD, UNK, Seq2Seq, greedy_search, parser
from safetensors import safe_open
from safetensors.torch import load_file

KINDS = "gru bahdanau additive global", "gru luong general global True", "gru none"  # True: with input feeding
NAMES = {  # of weights, in the file and here
    "model.encoder.embedding": "source_embedding.0",
    "model.encoder.rnn": "encoder",
    "model.decoder.embedding.": "target_embedding.0.",
    "model.decoder.attention.score.memory": "key",
    "model.decoder.attention.score.": "",  # query and v
    "model.decoder.rnn.recurrent.0.weight": "decoder.weight_hh",
    "model.decoder.rnn.recurrent.0.bias": "decoder.bias_hh",
    "model.decoder.embedding_gates.bias": "decoder.bias_ih",
    "model.decoder.combine": "readout",
    "model.decoder.output": "output.1",
    "model.decoder.": "",  # bridge, readout, and two matrices of gates
}


def load(path: Path) -> tuple[Seq2Seq, dict[str, Any]]:
    """The model in a file, and what else the file has: config, tokens. Raises ValueError for another kind of model."""
    weights = load_file(path)
    with safe_open(path, "pt") as file:
        contents = json.loads(file.metadata()["nmt"])["contents"]
    config = contents["config"]["model"]
    attention, hidden = config["attention"], config["decoder"]["hidden_size"]
    kind = " ".join(map(str, (config["cell"], *attention.values())))
    if kind not in KINDS:
        raise ValueError(f"its cell and attention are {kind!r}, and nano_nmt.py has {', '.join(map(repr, KINDS))}")
    for old, new in NAMES.items():
        weights = {name.replace(old, new): weight for name, weight in weights.items()}
    # The gates' shares of the word and of what attention gives are one matrix here.
    ours = next(name for name in ("context_gates.weight", "feed_gates.weight") if name in weights)
    weights["decoder.weight_ih"] = torch.cat([weights.pop("embedding_gates.weight"), weights.pop(ours)], dim=1)
    if attention["wiring"] == "luong":
        weights["key.weight"] *= math.sqrt(hidden)  # nano_nmt.py divides the score by it
    sizes = [len(contents[side]["tokens"]) for side in ("source", "target")]
    model = Seq2Seq(attention["wiring"], sizes, config["embedding_size"], hidden, 0.0, config["encoder"]["hidden_size"])
    model.output[1].weight = torch.nn.Parameter(weights["output.1.weight"])  # not the target's embedding
    model.load_state_dict(weights)
    return model.eval(), contents


def print_translations(path: str, *lines: str) -> int:
    """Translate lines by greedy search; returns exit code 0. Tokens are characters, or words and punctuation marks."""
    try:
        model, contents = load(Path(path))
    except Exception as error:  # missing, damaged, or of another kind
        parser.error(f"{path}: {' '.join(str(error).split())}; give a checkpoint that was saved in the playground")
    if not lines:
        parser.error("give texts to translate behind the checkpoint")
    source, target = (contents[side]["tokens"] for side in ("source", "target"))
    are_words = contents["config"]["data"]["source"]["tokenizer"] != "char"
    texts = [re.findall(r"\w+|[^\w\s]", line) if are_words else line.replace(" ", "▁") for line in lines]
    ids = [[source.index(token) if token in source else UNK for token in text] + [EOS] for text in texts]
    for row in greedy_search(model, ids)[0].tolist():
        tokens = [target[i] for i in row if i not in (PAD, EOS)]
        text = " ".join(tokens) if are_words else "".join(tokens).replace("▁", " ")
        print(re.sub(" (?=[.,!?])", "", text))
    return 0
