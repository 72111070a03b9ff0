"""The errors that `tests/mutations.py` plants: in search, data, training, resuming and evaluation.

Each is a mistake that somebody could make: a wrong sign, an index off by one, a state that is forgotten.
"""

from support.mutation import planted
from support.planted_model_errors import MODEL

MUTATIONS = [
    *MODEL,
    *planted(
        "nmt/decoding/beam_search.py",
        "decoding/test_beam_search.py",
        ("((5 + length) / 6) ** alpha", "((5 + length) / 6) ** (alpha / 2)"),
        (".add_(scores.unsqueeze(2))", ".add_(0 * scores.unsqueeze(2))"),
        ("len(ended[index]) >= beam_size", "len(ended[index]) >= 1"),
        ("-hypothesis.score)[:n_best]", "hypothesis.score)[:n_best]"),
        ("state = select(state, rows[keep].flatten())", "state = select(state, (rows - parents)[keep].flatten())"),
        (
            "ids.gather(1, parents.unsqueeze(2).expand(-1, -1, length))",
            "ids.gather(1, parents.sort(1).values.unsqueeze(2).expand(-1, -1, length))",
        ),
        ("_best_candidates(totals, 2 * beam_size)", "_best_candidates(totals, beam_size)"),
        ("scores / length_penalty(max_length, alpha)", "scores"),
    ),
    *planted(
        "nmt/decoding/sampling.py",
        "decoding/test_sampling.py",
        ("(below / temperature)", "(below * temperature)"),
        ("gained.masked_fill(has_ended, 0)", "gained"),
    ),
    *planted(
        "nmt/decoding/scoring.py",
        "decoding/test_scoring.py",
        (".squeeze(1) * is_real", ".squeeze(1)"),
    ),
    *planted(
        "nmt/data/batching.py",
        "data/test_batching.py",
        ("pad([[BOS, *example.target] for", "pad([[*example.target, BOS] for"),
        ("pad([[*example.target, EOS] for", "pad([[EOS, *example.target] for"),
        ("default_rng([seed, epoch])", "default_rng([seed])"),
        ("positions < self.target_lengths.unsqueeze(1)", "positions <= self.target_lengths.unsqueeze(1)"),
        ("range(begin + batch_size, end, batch_size), end]", "range(begin + batch_size, end, batch_size)]"),
        ("longest = np.maximum(*lengths) + 1", "longest = np.maximum(*lengths)"),
        ("(x[number::count] for x", "(x[number + 1 :: count] for x"),
    ),
    *planted(
        "nmt/text/unknown_words.py",
        "text/test_unknown_words.py",
        ("owners = owners[: weights.shape[1] - 1]", "owners = [*owners, 0]"),
        ("translations.setdefault(*columns)", "translations.update([columns])"),
    ),
    *planted(
        "nmt/schedules/learning_rate.py",
        "training/test_schedules.py",
        ("max(step.update, self.warmup))", "step.update)"),
        ("max(0, step.epoch - self.start_epoch)", "max(0, step.epoch - self.start_epoch + 1)"),
        ("math.cos(math.pi * step.share_done)", "math.cos(2 * math.pi * step.share_done)"),
    ),
    *planted(
        "nmt/schedules/teacher_forcing.py",
        "training/test_schedules.py",
        ("self.decay**updates", "self.decay ** (updates + 1)"),
    ),
    *planted(
        "nmt/training/update.py",
        "training/test_update.py",
        ("scale = group.size / tokens", "scale = group.size / len(batches)"),
        ("min(1, config.clip_norm / (scale * norm_value + 1e-6))", "config.clip_norm / (scale * norm_value + 1e-6)"),
        ("    optimizer.zero_grad()\n", ""),
    ),
    *planted(
        "nmt/training/update.py",
        "training/test_schedules.py",
        ('"step": (1, steps)', '"step": (sentences, 1)'),
    ),
    *planted(
        "nmt/training/train_state.py",
        "training/test_optimizers.py",
        ("(1 + updates) / (10 + updates)", "(1 + updates) / (9 + updates)"),
    ),
    *planted(
        "nmt/training/counters.py",
        "training/test_when_training_ends.py",
        ("(score, -loss) > (best, -self.best_loss)", "(score, -loss) >= (best, -self.best_loss)"),
        ("self.since_best >= patience", "self.since_best > patience"),
    ),
    *planted(
        "nmt/training/checkpointing.py",
        "training/test_resume.py",
        ("torch.set_rng_state(saved.random[group.rank].clone())", "saved.random[group.rank].clone()"),
        ('"state": asdict(trainer.counters)', '"state": {**asdict(trainer.counters), "batch": 0}'),
        ("average.load_state_dict(saved.average)", "average.state_dict()"),
        ('"optimizer", ', ""),
        ('"trained": text == (', '"trained": True or text == ('),
    ),
    *planted(
        "nmt/evaluation/by_length.py",
        "evaluation/test_by_length.py",
        ('side="left")', 'side="right")'),
        ("counts.sum(axis=0)", "statistics.sum(axis=0)"),
        ("[2.5, 97.5])", "[5, 95])"),
    ),
    *planted(
        "nmt/evaluation/scores.py",
        "evaluation/test_by_length.py evaluation/test_scores.py",
        ('smooth_method="exp"', 'smooth_method="none"'),
    ),
    *planted(
        "nmt/evaluation/scores.py",
        "evaluation/test_scores.py",
        ("** len(matched)", "** 1"),
    ),
    *planted(
        "nmt/evaluation/alignment.py",
        "evaluation/test_alignment.py",
        (
            "error_rate=1 - (in_sure + in_possible) / (linked + sure)",
            "error_rate=1 - (in_sure + in_possible) / (2 * linked)",
        ),
    ),
    *planted(
        "nmt/evaluation/alignment.py",
        "evaluation/test_word_alignment.py",
        ("weights.argmax(axis=1)", "weights.argmin(axis=1)"),
    ),
]
