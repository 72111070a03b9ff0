"""The errors that `tests/mutations.py` plants: in search, data, training, resuming and evaluation.

Each is a mistake that somebody could make: a wrong sign, an index off by one, a state that is forgotten.
"""

from support.mutation import Mutation
from support.planted_model_errors import MODEL

BEAM = ("tests/decoding/test_beam_search.py",)
SAMPLING = ("tests/decoding/test_sampling.py",)
SCORING = ("tests/decoding/test_scoring.py",)
BATCHING = ("tests/data/test_batching.py",)
SCHEDULES = ("tests/training/test_schedules.py",)
UPDATE = ("tests/training/test_update.py",)
RESUME = ("tests/training/test_resume.py",)
AVERAGE = ("tests/training/test_average.py",)
ENDS = ("tests/training/test_when_training_ends.py",)
LENGTHS = ("tests/evaluation/test_by_length.py",)
SCORES = ("tests/evaluation/test_scores.py",)
ALIGNMENT = ("tests/evaluation/test_alignment.py",)
WORD_ALIGNMENT = ("tests/evaluation/test_word_alignment.py",)
UNKNOWN = ("tests/text/test_unknown_words.py",)

SEARCH = [
    Mutation("nmt/decoding/beam_search.py", "((5 + length) / 6) ** alpha", "((5 + length) / 6) ** (alpha / 2)", BEAM),
    Mutation("nmt/decoding/beam_search.py", ".add_(scores.unsqueeze(2))", ".add_(0 * scores.unsqueeze(2))", BEAM),
    Mutation("nmt/decoding/beam_search.py", "len(ended[number]) >= beam_size", "len(ended[number]) >= 1", BEAM),
    Mutation("nmt/decoding/beam_search.py", "-hypothesis.score)[:n_best]", "hypothesis.score)[:n_best]", BEAM),
    Mutation(
        "nmt/decoding/beam_search.py",
        "state = select(state, _rows(parents, totals.shape[1])[keep].flatten())",
        "state = select(state, _rows(torch.zeros_like(parents), totals.shape[1])[keep].flatten())",
        BEAM,
    ),
    Mutation(
        "nmt/decoding/beam_search.py",
        "ids.gather(1, parents.unsqueeze(2).expand(-1, -1, length))",
        "ids.gather(1, parents.sort(1).values.unsqueeze(2).expand(-1, -1, length))",
        BEAM,
    ),
    Mutation(
        "nmt/decoding/beam_search.py",
        "_best_candidates(totals, 2 * beam_size)",
        "_best_candidates(totals, beam_size)",
        BEAM,
    ),
    Mutation("nmt/decoding/beam_search.py", "scores[at] / length_penalty(max_length, alpha)", "scores[at]", BEAM),
    Mutation("nmt/decoding/sampling.py", "(below / temperature)", "(below * temperature)", SAMPLING),
    Mutation("nmt/decoding/sampling.py", "gained.masked_fill(ended, 0)", "gained", SAMPLING),
    Mutation("nmt/decoding/scoring.py", ".squeeze(1) * is_real", ".squeeze(1)", SCORING),
]
DATA = [
    Mutation("nmt/data/batching.py", "pad([[BOS, *example.target] for", "pad([[*example.target, BOS] for", BATCHING),
    Mutation("nmt/data/batching.py", "pad([[*example.target, EOS] for", "pad([[EOS, *example.target] for", BATCHING),
    Mutation("nmt/data/batching.py", "default_rng([seed, epoch])", "default_rng([seed])", BATCHING),
    Mutation(
        "nmt/data/batching.py",
        "positions < self.target_lengths.unsqueeze(1)",
        "positions <= self.target_lengths.unsqueeze(1)",
        BATCHING,
    ),
    Mutation(
        "nmt/data/batching.py",
        "range(begin + batch_size, end, batch_size), end]",
        "range(begin + batch_size, end, batch_size)]",
        BATCHING,
    ),
    Mutation("nmt/data/batching.py", "longest = np.maximum(*lengths) + 1", "longest = np.maximum(*lengths)", BATCHING),
    Mutation("nmt/data/batching.py", "(x[number::count] for x", "(x[number + 1 :: count] for x", BATCHING),
    Mutation("nmt/text/unknown_words.py", "owners = owners[: weights.shape[1] - 1]", "owners = [*owners, 0]", UNKNOWN),
    Mutation(
        "nmt/text/unknown_words.py", "translations.setdefault(*columns)", "translations.update([columns])", UNKNOWN
    ),
]
TRAINING_ERRORS = [
    Mutation("nmt/schedules/learning_rate.py", "max(step.update, self.warmup))", "step.update)", SCHEDULES),
    Mutation(
        "nmt/schedules/learning_rate.py",
        "max(0, step.epoch - self.start_epoch)",
        "max(0, step.epoch - self.start_epoch + 1)",
        SCHEDULES,
    ),
    Mutation(
        "nmt/schedules/learning_rate.py",
        "math.cos(math.pi * step.share_done)",
        "math.cos(2 * math.pi * step.share_done)",
        SCHEDULES,
    ),
    Mutation("nmt/schedules/teacher_forcing.py", "self.decay**updates", "self.decay ** (updates + 1)", SCHEDULES),
    Mutation("nmt/training/update.py", "scale = group.size / tokens", "scale = group.size / len(batches)", UPDATE),
    Mutation(
        "nmt/training/update.py",
        "min(1, config.clip_norm / (scale * norm_value + 1e-6))",
        "config.clip_norm / (scale * norm_value + 1e-6)",
        UPDATE,
    ),
    Mutation("nmt/training/update.py", '"step": (1, steps)', '"step": (sentences, 1)', SCHEDULES),
    Mutation("nmt/training/update.py", "    optimizer.zero_grad()\n", "", UPDATE),
    Mutation("nmt/training/train_state.py", "(1 + updates) / (10 + updates)", "(1 + updates) / (9 + updates)", AVERAGE),
    Mutation(
        "nmt/training/counters.py",
        "(score, -loss) > (best, -self.best_loss)",
        "(score, -loss) >= (best, -self.best_loss)",
        ENDS,
    ),
    Mutation("nmt/training/counters.py", "self.since_best >= patience", "self.since_best > patience", ENDS),
    Mutation(
        "nmt/training/checkpointing.py",
        "torch.set_rng_state(saved.random[group.rank].clone())",
        "saved.random[group.rank].clone()",
        RESUME,
    ),
    Mutation(
        "nmt/training/checkpointing.py",
        '"state": asdict(trainer.counters)',
        '"state": {**asdict(trainer.counters), "batch": 0}',
        RESUME,
    ),
    Mutation("nmt/training/checkpointing.py", "average.load_state_dict(saved.average)", "average.state_dict()", RESUME),
    Mutation("nmt/training/checkpointing.py", '"optimizer", ', "", RESUME),
    Mutation(
        "nmt/training/checkpointing.py",
        'if of_parameter.get("step", 1) > 0}',
        'if of_parameter.get("step", 1) > 99}',
        RESUME,
    ),
    Mutation("nmt/training/checkpointing.py", "if text != (", "if False and text != (", RESUME),
]
EVALUATION = [
    Mutation("nmt/evaluation/by_length.py", 'side="left")', 'side="right")', LENGTHS),
    Mutation("nmt/evaluation/by_length.py", "counts.sum(axis=0)", "statistics.sum(axis=0)", LENGTHS),
    Mutation("nmt/evaluation/by_length.py", "[2.5, 97.5])", "[5, 95])", LENGTHS),
    Mutation("nmt/evaluation/scores.py", 'smooth_method="exp"', 'smooth_method="none"', (*LENGTHS, *SCORES)),
    Mutation("nmt/evaluation/scores.py", "** len(matched)", "** 1", SCORES),
    Mutation(
        "nmt/evaluation/alignment.py",
        "error_rate=1 - (in_sure + in_possible) / (linked + sure)",
        "error_rate=1 - (in_sure + in_possible) / (2 * linked)",
        ALIGNMENT,
    ),
    Mutation("nmt/evaluation/alignment.py", "weights.argmax(axis=1)", "weights.argmin(axis=1)", WORD_ALIGNMENT),
]

MUTATIONS = [*MODEL, *SEARCH, *DATA, *TRAINING_ERRORS, *EVALUATION]
