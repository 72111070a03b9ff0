"""Neural machine translation with attention, in one file to read from top to bottom.

    python nano_nmt.py                       train on the sample corpus, score its test set, draw the attention
    python nano_nmt.py --attention luong     the same with Luong's attention, or with none
    python nano_nmt.py --multi30k DIR        German→English captions; DIR holds train.de.gz, train.en.gz, val.de.gz, …
    python nano_nmt.py CHECKPOINT TEXT …     translate with a model that was trained in the browser (nmt's playground)

Shapes: B sentences, S source positions, T target positions, E embedding, H state of a GRU, V vocabulary, R readout,
K hypotheses of a sentence (1 in training), N = B·K rows of the decoder.
[B] is Bahdanau, Cho, Bengio 2015 (arXiv 1409.0473), [L] Luong, Pham, Manning 2015 (arXiv 1508.04025).
"""

import gzip
import math
import re
from argparse import SUPPRESS, ArgumentParser, RawDescriptionHelpFormatter
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import torch
from matplotlib.figure import Figure
from sacrebleu.metrics import BLEU
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence
from tqdm import tqdm

UNK, PAD, BOS, EOS = range(4)  # unknown word, padding, beginning and end of a sentence
SAMPLE = {"embedding": 128, "hidden": 128, "dropout": 0.1}, {"epochs": 5, "batch_size": 32, "rate": 0.004}
MULTI30K = {"embedding": 256, "hidden": 256, "dropout": 0.3}, {"epochs": 12, "batch_size": 64, "rate": 0.002}
Pairs = list[tuple[list[int], list[int]]]  # the ids of sources and of their targets; each ends with EOS


# 1. Text becomes ids, ids become batches -----------------------------------------------------------------------------
def tokenize(line: str) -> list[str]:
    """Lower-case words and punctuation marks. Each keeps the space before it: joined, they are the line again."""
    return re.findall(r" ?\w+| ?[^\w\s]", " " + " ".join(line.lower().split()))


class Vocabulary:
    """The special tokens, frequent words, and what all others are split into: pieces, at worst characters."""

    def __init__(self, lines: list[str]) -> None:
        words = Counter(word for line in lines for word in tokenize(line))
        rare = (word for word, n in words.items() if n < 5)
        pieces = Counter(word[i:j] for word in rare for i in range(len(word)) for j in range(i + 1, len(word) + 1))
        frequent = [word for word, n in words.items() if n >= 5] + [piece for piece, n in pieces.items() if n >= 30]
        self.tokens = [" <unk>", "<pad>", "<s>", "</s>", *dict.fromkeys([*frequent, *"".join(words)])]
        self.ids = {token: i for i, token in enumerate(self.tokens)}

    def split(self, word: str) -> list[str]:
        """The longest token with which a word begins, and the same for the rest of it."""
        n = next((n for n in range(len(word), 1, -1) if word[:n] in self.ids), 1)
        return [word[:n], *self.split(word[n:])] if word else []

    def encode(self, line: str) -> list[int]:
        return [self.ids.get(token, UNK) for word in tokenize(line) for token in self.split(word)] + [EOS]

    def decode(self, ids: list[int]) -> str:
        return "".join(self.tokens[i] for i in ids if i not in (PAD, BOS, EOS)).strip()


def pad(sentences: list[list[int]]) -> Tensor:
    """Ids (B S), with PAD behind the shorter sentences."""
    return pad_sequence([torch.tensor(ids) for ids in sentences], batch_first=True, padding_value=PAD)


def epoch_batches(pairs: Pairs, size: int) -> list[Pairs]:
    """Each pair once. Pairs of similar length are in one batch, so there is little padding; the order is random."""
    order = sorted(torch.randperm(len(pairs)).tolist(), key=lambda i: (len(pairs[i][0]), len(pairs[i][1])))
    batches = [[pairs[i] for i in order[start : start + size]] for start in range(0, len(order), size)]
    return [batches[i] for i in torch.randperm(len(batches)).tolist()]


# 2. The model --------------------------------------------------------------------------------------------------------
class Memory(NamedTuple):
    values: Tensor  # (B S 2H) the encoder's states h_s = [→h_s; ←h_s]
    keys: Tensor  # (B S H) what queries are compared with, computed once per sentence
    mask: Tensor  # (B S) True at tokens, False at padding


class State(NamedTuple):
    hidden: Tensor  # (N H) of the decoder's GRU: s_t in [B], h_t in [L]
    readout: Tensor  # (N R) what the output layer reads: h̃_t in [L]


class Seq2Seq(nn.Module):
    """p(target | source), with `attention` "bahdanau", "luong" (with input feeding) or "none"."""

    def __init__(self, attention: str, sizes: list[int], embedding: int, hidden: int, dropout: float, encoder: int = 0):
        super().__init__()
        self.attention, luong, encoder = attention, attention == "luong", encoder or hidden
        self.dropout = nn.Dropout(dropout)
        self.source_embedding = nn.Sequential(nn.Embedding(sizes[0], embedding), self.dropout)
        self.target_embedding = nn.Sequential(nn.Embedding(sizes[1], embedding), self.dropout)
        self.encoder = nn.GRU(embedding, encoder, batch_first=True, bidirectional=True)
        self.bridge = nn.Linear(2 * encoder, hidden)  # W_s
        if attention != "none":
            self.key = nn.Linear(2 * encoder, hidden, bias=False)  # U_a in [B], W_a in [L]
        if attention == "bahdanau":
            self.query, self.v = nn.Linear(hidden, hidden, bias=False), nn.Linear(hidden, 1, bias=False)  # W_a, v_a
        self.decoder = nn.GRUCell(embedding + (hidden if luong else 2 * encoder), hidden)
        joined, readout = 2 * encoder + hidden + (0 if luong else embedding), hidden if luong else embedding
        self.readout = nn.Linear(joined, readout, bias=not luong)  # W_c in [L]
        self.output = nn.Sequential(self.dropout, nn.Linear(readout, sizes[1]))
        self.output[1].weight = self.target_embedding[0].weight  # one matrix for both (Press and Wolf 2017): R = E
        for weight in self.parameters():  # matrices with n inputs from N(0, 1/n): PyTorch's own are too small or large
            nn.init.normal_(weight, std=weight.shape[1] ** -0.5) if weight.dim() == 2 else nn.init.zeros_(weight)

    def encode(self, source: Tensor) -> tuple[State, Memory]:
        """The bidirectional GRU ([B] 3.2, A.2.1): the state before the first step, and what attention reads."""
        embedded, mask = self.source_embedding(source), source != PAD  # (B S E), (B S)
        packed = pack_padded_sequence(embedded, mask.sum(dim=1), batch_first=True, enforce_sorted=False)
        outputs, last = self.encoder(packed)  # packed: ←h starts at a sentence's own last token, not in the padding
        values = self.dropout(pad_packed_sequence(outputs, batch_first=True, total_length=source.shape[1])[0])
        final = self.dropout(torch.cat([last[0], last[1]], dim=1))  # (B 2H) →h at the last token, ←h at the first
        hidden = torch.tanh(self.bridge(final))  # s_0 = tanh(W_s [→h; ←h]); [B] A.2.2 has ←h alone
        state = State(hidden, hidden.new_zeros(len(source), self.readout.out_features))
        if self.attention == "none":  # a memory with one position, which always has weight 1: c_t = [→h; ←h]
            return state, Memory(final.unsqueeze(1), hidden.unsqueeze(1), mask[:, :1])
        return state, Memory(values, self.key(values), mask)

    def attend(self, query: Tensor, memory: Memory) -> tuple[Tensor, Tensor]:
        """Contexts (N 2H) and weights (N S) of queries (N H)."""
        query = query.view(len(memory.keys), -1, query.shape[1])  # (B K H): a sentence's hypotheses share its memory
        if self.attention == "bahdanau":  # e_s = v_aᵀ tanh(W_a q + U_a h_s) ([B] A.1.2)
            scores = self.v(torch.tanh(self.query(query).unsqueeze(2) + memory.keys.unsqueeze(1))).squeeze(3)
        else:  # e_s = qᵀ W_a h_s / √H ([L] 3.1, general; without the scale of Vaswani et al. 2017 it learns too slowly)
            scores = query @ memory.keys.transpose(1, 2) / math.sqrt(query.shape[2])  # (B K S)
        scores = scores.masked_fill(~memory.mask.unsqueeze(1), -math.inf)  # padding gets weight 0
        weights = scores.softmax(dim=2)  # α ([B] equation 6, [L] equation 7)
        return (weights @ memory.values).flatten(0, 1), weights.flatten(0, 1)  # c = Σ_s α_s h_s ([B] equation 5)

    def step(self, embedded: Tensor, state: State, memory: Memory) -> tuple[State, Tensor]:
        """The state after reading E y_{t−1} (N E), and the attention weights (N S). Training and search share it."""
        if self.attention == "luong":  # attention after the GRU: the query is the new state ([L] section 3)
            hidden = self.decoder(torch.cat([embedded, state.readout], dim=1), state.hidden)  # h_t; reads h̃_{t−1} (3.3)
            context, weights = self.attend(hidden, memory)  # c_t
            readout = torch.tanh(self.readout(torch.cat([context, hidden], dim=1)))  # h̃_t ([L] equation 5)
        else:  # attention before the GRU: the query is the previous state ([B] 3.1)
            context, weights = self.attend(state.hidden, memory)  # c_t, from s_{t−1}
            hidden = self.decoder(torch.cat([embedded, context], dim=1), state.hidden)  # s_t ([B] A.2.2)
            readout = torch.tanh(self.readout(torch.cat([hidden, context, embedded], dim=1)))  # g ([B] equation 4)
        return State(hidden, readout), weights

    def forward(self, source: Tensor, target_input: Tensor) -> Tensor:
        """Teacher forcing: each step reads the reference's previous token. Readouts (B T R)."""
        state, memory = self.encode(source)
        readouts = []
        for embedded in self.target_embedding(target_input).unbind(dim=1):
            state, _ = self.step(embedded, state, memory)
            readouts.append(state.readout)
        return torch.stack(readouts, dim=1)


# 3. Training ---------------------------------------------------------------------------------------------------------
def loss_of(model: Seq2Seq, pairs: Pairs, **options: Any) -> Tensor:
    """The mean of −log p(y_t) in nats over the targets' tokens, without padding."""
    target_input = pad([[BOS, *target[:-1]] for _, target in pairs])  # (B T) BOS y_1 … y_n: what the decoder reads
    target_output = pad([target for _, target in pairs])  # (B T) y_1 … y_n EOS: what it is to predict
    readouts = model(pad([source for source, _ in pairs]), target_input)
    real = target_output != PAD  # (B T): the output layer is the largest, and computed at these alone
    return nn.functional.cross_entropy(model.output(readouts[real]), target_output[real], **options)


def train(model: Seq2Seq, pairs: Pairs, validation: Pairs, epochs: int, batch_size: int, rate: float) -> None:
    """Adam with warm-up and linear decay. It ends, also by Ctrl-C, with the epoch of the least perplexity."""
    updates = epochs * math.ceil(len(pairs) / batch_size)
    optimizer = torch.optim.Adam(model.parameters(), lr=rate, fused=True)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda n: min(20 * (n + 1) / updates, 1 - n / updates))
    best, best_weights = math.inf, model.state_dict()
    try:
        for epoch in range(1, epochs + 1):
            model.train()
            for batch in tqdm(epoch_batches(pairs, batch_size), f"epoch {epoch}", leave=False, disable=None):
                optimizer.zero_grad()
                loss_of(model, batch, label_smoothing=0.1).backward()
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                schedule.step()
            model.eval()
            with torch.no_grad():  # the mean over all tokens, not over batches
                total = sum(loss_of(model, batch, reduction="sum").item() for batch in epoch_batches(validation, 64))
            value = math.exp(total / sum(len(target) for _, target in validation))
            print(f"epoch {epoch} of {epochs}: validation perplexity {value:.3f}", flush=True)
            if value < best:
                best, best_weights = value, {name: weight.clone() for name, weight in model.state_dict().items()}
    except KeyboardInterrupt:
        print("Stopped: going on with the best weights so far")
    model.load_state_dict(best_weights)


# 4. Search -----------------------------------------------------------------------------------------------------------
@torch.no_grad()
def greedy_search(model: Seq2Seq, sources: list[list[int]]) -> tuple[Tensor, Tensor]:
    """The most likely token at each step: ids (B T), with PAD behind EOS, and attention weights (B T S)."""
    state, memory = model.encode(pad(sources))
    ids, weights = torch.full([len(sources), 1], BOS), []
    while len(weights) < 2 * max(map(len, sources)) + 10 and not (ended := (ids == EOS).any(dim=1)).all():
        state, alpha = model.step(model.target_embedding(ids[:, -1]), state, memory)
        token = model.output(state.readout).argmax(dim=1).masked_fill(ended, PAD)
        ids = torch.cat([ids, token.unsqueeze(1)], dim=1)
        weights.append(alpha)
    return ids[:, 1:], torch.stack(weights, dim=1)


@torch.no_grad()
def beam_search(model: Seq2Seq, sources: list[list[int]], beam: int = 5, alpha: float = 1.0) -> Tensor:
    """The ids (B T) of the best of K hypotheses by log p / ((5 + length) / 6)^α (Wu et al. 2016, equation 14)."""
    state, memory = model.encode(pad(sources))
    sentence = torch.arange(len(sources)).unsqueeze(1)  # (B 1)
    ids = torch.full([len(sources), 1, 1], BOS)  # (B K t): the tokens of each hypothesis
    log_p = torch.zeros(len(sources), 1)  # (B K): the sum of their log-probabilities
    while ids.shape[2] <= 2 * max(map(len, sources)) + 10 and not (ended := (ids == EOS).any(dim=2)).all():
        state, _ = model.step(model.target_embedding(ids[:, :, -1].flatten()), state, memory)
        log_next = model.output(state.readout).log_softmax(dim=1).unflatten(0, log_p.shape)  # (B K V)
        log_next[ended] = -math.inf
        log_next[ended, PAD] = 0.0  # a hypothesis that has ended stays as it is
        log_p, best = (log_p.unsqueeze(2) + log_next).flatten(1).topk(beam)  # (B K) of K·V
        parent, token = best // log_next.shape[2], best % log_next.shape[2]
        state = State(*(x.unflatten(0, ended.shape)[sentence, parent].flatten(0, 1) for x in state))  # the parent's
        ids = torch.cat([ids[sentence, parent], token.unsqueeze(2)], dim=2)
    length = (ids[:, :, 1:] != PAD).sum(dim=2)
    return ids[sentence[:, 0], (log_p / ((5 + length) / 6) ** alpha).argmax(dim=1), 1:]


# 5. Evaluation, and the program -------------------------------------------------------------------------------------
def translate(model: Seq2Seq, source: Vocabulary, target: Vocabulary, lines: list[str]) -> list[str]:
    """The translations of lines, in batches; lines of similar length should follow each other."""
    model.eval()
    batches = [lines[i : i + 64] for i in range(0, len(lines), 64)]
    ids = [beam_search(model, [*map(source.encode, x)]) for x in tqdm(batches, leave=False, disable=None)]
    return [target.decode(translation) for batch in ids for translation in batch.tolist()]


def print_bleu(model: Seq2Seq, source: Vocabulary, target: Vocabulary, corpus: list[tuple[str, str]]) -> None:
    """BLEU of text, not of tokens, in lower case: of all sentences, and of five groups by the source's length."""
    lengths, lines, references = zip(*sorted((len(source.encode(a)), a, b) for a, b in corpus), strict=True)
    outputs, n = translate(model, source, target, list(lines)), len(lines)
    bleu = BLEU(lowercase=True)
    for start, end in [(0, n), *((k * n // 5, (k + 1) * n // 5) for k in range(5) if n >= 5)]:
        score = bleu.corpus_score(outputs[start:end], [references[start:end]]).score
        print(f"BLEU {score:6.2f} {end - start:6} sentences of {lengths[start]:3} to {lengths[end - 1]:3} tokens")
    print(bleu.get_signature())


def draw_attention(model: Seq2Seq, source: Vocabulary, target: Vocabulary, line: str, path: str) -> None:
    """A row for each token of the greedy translation: the weights of the source's positions."""
    ids = source.encode(line)
    [translation], [weights] = greedy_search(model, [ids])
    axes = Figure(figsize=(8, 8), layout="constrained").add_subplot()
    axes.imshow(weights.tolist(), cmap="Greys", vmin=0, vmax=1)
    axes.set_xticks(range(len(ids)), [source.tokens[i] for i in ids], rotation=90)
    axes.set_yticks(range(len(translation)), [target.tokens[i] for i in translation])
    axes.figure.savefig(path)


def read_corpus(folder: Path, split: str) -> list[tuple[str, str]]:
    """German lines and their English translations, from SPLIT.de and SPLIT.en, or SPLIT.de.gz and SPLIT.en.gz."""
    texts = []
    for path in (folder / f"{split}.de", folder / f"{split}.en"):
        try:
            data = path.read_bytes() if path.exists() else gzip.decompress(Path(f"{path}.gz").read_bytes())
            texts.append(data.decode("utf-8-sig").removesuffix("\n").split("\n"))
        except Exception as error:  # missing, damaged, not UTF-8
            parser.error(f"{path}: {getattr(error, 'strerror', '') or error}; give --data DIR or --multi30k DIR")
    if len(texts[0]) != len(texts[1]):
        parser.error(f"{path} has {len(texts[1])} lines, the German text {len(texts[0])}: line n must translate line n")
    return list(zip(*texts, strict=True))


parser = ArgumentParser(usage=SUPPRESS, description=__doc__, formatter_class=RawDescriptionHelpFormatter)
parser.add_argument("--attention", choices=["bahdanau", "luong", "none"], default="bahdanau")
parser.add_argument("--data", type=Path, default=Path(__file__).resolve().parent / "../../data/sample")
parser.add_argument("--multi30k", type=Path)
parser.add_argument("checkpoint", nargs="*", help="a file, and texts to translate")


def main() -> None:
    options = parser.parse_args()
    if options.checkpoint:
        from nano_checkpoint import print_translations

        parser.exit(print_translations(*options.checkpoint))
    splits = ("train", "val", "test_2016_flickr") if options.multi30k else ("train", "validation", "test")
    training, validation, test = (read_corpus(options.multi30k or options.data, split) for split in splits)
    source, target = Vocabulary([german for german, _ in training]), Vocabulary([english for _, english in training])
    pairs = [[(source.encode(a), target.encode(b)) for a, b in lines] for lines in (training, validation)]
    torch.manual_seed(1)
    shape, recipe = MULTI30K if options.multi30k else SAMPLE
    model = Seq2Seq(options.attention, [len(source.tokens), len(target.tokens)], **shape)
    train(model, *pairs, **recipe)
    print_bleu(model, source, target, validation)
    print_bleu(model, source, target, test)
    if options.attention != "none":
        draw_attention(model, source, target, test[0][0], "attention.png")


if __name__ == "__main__":
    main()
