"""What the checks of lesson 1 compare with: NumPy functions, right ones and those that students hand in."""

import numpy as np

from nmt.course.checking import Answer, Exercise

B, S, T, E, H, V = 3, 5, 4, 3, 4, 6  # sentences, source and target positions, embedding, state, vocabulary
PAD = 1


# 1.1 A batch and its mask
def sentence_arguments(rng):
    return [rng.integers(4, 20, size=n).tolist() for n in (3, 1, 5, 2)], PAD


def pad_and_mask(sentences, padding):
    longest = max(map(len, sentences))
    ids = [ids + [padding] * (longest - len(ids)) for ids in sentences]
    return np.array(ids), np.array([np.arange(longest) < len(ids) for ids in sentences])


def padded_in_front(sentences, padding):
    ids, mask = pad_and_mask([ids[::-1] for ids in sentences], padding)
    return ids[:, ::-1], mask[:, ::-1]


def padded_in_front_only(sentences, padding):
    return padded_in_front(sentences, padding)[0], pad_and_mask(sentences, padding)[1]


def cut_to_the_shortest(sentences, padding):
    shortest = min(map(len, sentences))
    return pad_and_mask([ids[:shortest] for ids in sentences], padding)


def mask_inverted(sentences, padding):
    ids, mask = pad_and_mask(sentences, padding)
    return ids, ~mask


def mask_all_true(sentences, padding):
    ids, mask = pad_and_mask(sentences, padding)
    return ids, np.ones_like(mask)


# 1.2 A step of the GRU
def gru_arguments(rng):
    sizes = ((B, E), (B, H), (3 * H, E), (3 * H, H), 3 * H, 3 * H)
    return tuple(rng.normal(size=size) for size in sizes)


def sigmoid(a):
    return 1 / (1 + np.exp(-a))


def gru_parts(x, h, W, U, b, d):
    return np.split(x @ W.T + b, 3, axis=1), np.split(h @ U.T + d, 3, axis=1)


def gru_step(x, h, W, U, b, d):
    (x_r, x_z, x_n), (h_r, h_z, h_n) = gru_parts(x, h, W, U, b, d)
    z = sigmoid(x_z + h_z)
    return (1 - z) * np.tanh(x_n + sigmoid(x_r + h_r) * h_n) + z * h


def gru_with_z_exchanged(x, h, W, U, b, d):
    (x_r, x_z, x_n), (h_r, h_z, h_n) = gru_parts(x, h, W, U, b, d)
    z = sigmoid(x_z + h_z)
    return z * np.tanh(x_n + sigmoid(x_r + h_r) * h_n) + (1 - z) * h


def gru_without_reset(x, h, W, U, b, d):
    (_, x_z, x_n), (_, h_z, h_n) = gru_parts(x, h, W, U, b, d)
    z = sigmoid(x_z + h_z)
    return (1 - z) * np.tanh(x_n + h_n) + z * h


def gru_with_reset_before_the_product(x, h, W, U, b, d):
    (x_r, x_z, x_n), (h_r, h_z, _) = gru_parts(x, h, W, U, b, d)
    z, r = sigmoid(x_z + h_z), sigmoid(x_r + h_r)
    return (1 - z) * np.tanh(x_n + (r * h) @ U[2 * H :].T + d[2 * H :]) + z * h


def gru_with_reset_of_the_sum(x, h, W, U, b, d):
    (x_r, x_z, x_n), (h_r, h_z, h_n) = gru_parts(x, h, W, U, b, d)
    z = sigmoid(x_z + h_z)
    return (1 - z) * np.tanh(sigmoid(x_r + h_r) * (x_n + h_n)) + z * h


def gru_with_gates_exchanged(x, h, W, U, b, d):
    (x_z, x_r, x_n), (h_z, h_r, h_n) = gru_parts(x, h, W, U, b, d)
    z = sigmoid(x_z + h_z)
    return (1 - z) * np.tanh(x_n + sigmoid(x_r + h_r) * h_n) + z * h


def gru_with_sigmoid_values(x, h, W, U, b, d):
    (x_r, x_z, x_n), (h_r, h_z, h_n) = gru_parts(x, h, W, U, b, d)
    z = sigmoid(x_z + h_z)
    return (1 - z) * sigmoid(x_n + sigmoid(x_r + h_r) * h_n) + z * h


def gru_without_the_old_state(x, h, W, U, b, d):
    (x_r, x_z, x_n), (h_r, h_z, h_n) = gru_parts(x, h, W, U, b, d)
    return (1 - sigmoid(x_z + h_z)) * np.tanh(x_n + sigmoid(x_r + h_r) * h_n)


# 1.3 The loop over the positions, in both directions, with a stand-in for the GRU
def read_arguments(rng):
    backwards = bool(rng.integers(2))
    mask = np.arange(S) < np.array([S, 2, 3])[:, None]
    return lambda x, h: 2 * x + h / 3, rng.normal(size=(B, S, H)), mask, rng.normal(size=(B, H)), backwards


def read(step, embedded, mask, state, backwards):
    states = np.zeros((*mask.shape, state.shape[1]))
    for s in reversed(range(mask.shape[1])) if backwards else range(mask.shape[1]):
        state = states[:, s] = np.where(mask[:, s, None], step(embedded[:, s], state), state)
    return states, state


def read_without_the_mask(step, embedded, mask, state, backwards):
    return read(step, embedded, np.ones_like(mask), state, backwards)


def read_with_the_mask_inverted(step, embedded, mask, state, backwards):
    return read(step, embedded, ~mask, state, backwards)


def read_with_zeros_at_padding(step, embedded, mask, state, backwards):
    states = np.zeros((*mask.shape, state.shape[1]))
    for s in reversed(range(mask.shape[1])) if backwards else range(mask.shape[1]):
        state = states[:, s] = np.where(mask[:, s, None], step(embedded[:, s], state), 0)
    return states, state


def read_without_a_state(step, embedded, mask, state, backwards):
    states, start = np.zeros((*mask.shape, state.shape[1])), state
    for s in reversed(range(mask.shape[1])) if backwards else range(mask.shape[1]):
        state = states[:, s] = np.where(mask[:, s, None], step(embedded[:, s], start), state)
    return states, state


# 1.5 What the decoder reads
def target_arguments(rng):
    target = rng.integers(4, 20, size=(B, T))
    for row, n in enumerate((T, 2, 3)):
        target[row, n - 1 :] = [3, *[PAD] * (T - n)]
    return target, 2


def decoder_inputs(target, beginning):
    return np.concatenate([np.full_like(target[:, :1], beginning), target[:, :-1]], axis=1)


def inputs_with_one_more(target, beginning):
    return np.concatenate([np.full_like(target[:, :1], beginning), target], axis=1)


def inputs_that_replace_the_first(target, beginning):
    return np.concatenate([np.full_like(target[:, :1], beginning), target[:, 1:]], axis=1)


def inputs_moved_to_the_left(target, beginning):
    return np.concatenate([target[:, 1:], np.full_like(target[:, :1], beginning)], axis=1)


# 1.7 The loss of the real tokens
def loss_arguments(rng):
    logits, (target, _) = 2 * rng.normal(size=(B, T, V)), target_arguments(rng)
    return logits, np.where(target > 3, target % V, target), PAD


def token_losses(logits, target):
    log_p = logits - np.log(np.exp(logits).sum(axis=2, keepdims=True))
    return -np.take_along_axis(log_p, target[:, :, None], axis=2)[:, :, 0]


def token_loss(logits, target, padding):
    return token_losses(logits, target)[target != padding].mean()


def loss_of_the_sentences(logits, target, padding):
    losses, real = token_losses(logits, target), target != padding
    return np.mean([losses[i][real[i]].mean() for i in range(len(target))])


def loss_of_the_probability(logits, target, padding):
    return -np.exp(-token_losses(logits, target))[target != padding].mean()


def loss_over_the_positions(logits, target, padding):
    log_p = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    return -np.take_along_axis(log_p, target[:, :, None], axis=2)[target != padding].mean()


EXERCISES = {
    "1.1": Exercise(
        "pad_and_mask",
        sentence_arguments,
        pad_and_mask,
        {
            "Padding stands before the tokens. It belongs behind them.": padded_in_front,
            "Padding stands before the tokens, and the mask says the opposite: it belongs behind them.": (
                padded_in_front_only
            ),
            "The long sentences are cut. Fill up the short ones instead: S is the length of the longest one.": (
                cut_to_the_shortest
            ),
            "The mask is the wrong way round: True at tokens, False at padding.": mask_inverted,
            "The mask is True everywhere. At padding it must be False.": mask_all_true,
            "The sentences are filled up with 0, which is <unk>. Use `padding`.": (
                lambda sentences, padding: (pad_and_mask(sentences, 0)[0], pad_and_mask(sentences, padding)[1])
            ),
            "The mask comes first. Return the ids, and then the mask.": (
                lambda sentences, padding: pad_and_mask(sentences, padding)[::-1]
            ),
        },
    ),
    "1.2": Exercise(
        "gru_step",
        gru_arguments,
        gru_step,
        {
            "z and 1 - z have changed places, as in [B]. Here z is the share of the old state.": gru_with_z_exchanged,
            "The reset gate is not used: r is multiplied with U_n h + d_n.": gru_without_reset,
            "r is multiplied with h before the matrix, as in [B]. Here it is multiplied with U_n h + d_n.": (
                gru_with_reset_before_the_product
            ),
            "r is multiplied with the whole sum. It belongs to U_n h + d_n alone, not to W_n x + b_n.": (
                gru_with_reset_of_the_sum
            ),
            "r and z have changed places: W and U have the rows of r, then of z, then of n.": gru_with_gates_exchanged,
            "n is computed with a sigmoid. Its values lie between -1 and 1: use tanh.": gru_with_sigmoid_values,
            "The old state is missing from the mixture: add z * h.": gru_without_the_old_state,
            "d is missing: there are two vectors to add, b beside W x and d beside U h.": (
                lambda x, h, W, U, b, d: gru_step(x, h, W, U, b, 0 * d)
            ),
        },
    ),
    "1.3": Exercise(
        "read",
        read_arguments,
        read,
        {
            "The mask is not used: the state changes at padding, too.": read_without_the_mask,
            "The mask is the wrong way round: the state changes at tokens, and is kept at padding.": (
                read_with_the_mask_inverted
            ),
            "The state is set to 0 at padding. Keep the state from the position before.": read_with_zeros_at_padding,
            "Each step begins with the first state. Give `step` the state from the position before.": (
                read_without_a_state
            ),
            "`backwards` is not used: begin at the last position if it is True.": (
                lambda step, embedded, mask, state, backwards: read(step, embedded, mask, state, False)
            ),
            "The states stand in the order of reading. states[:, s] belongs to position s, backwards, too.": (
                lambda step, embedded, mask, state, backwards: (
                    read(step, embedded, mask, state, backwards)[0][:, :: -1 if backwards else 1],
                    read(step, embedded, mask, state, backwards)[1],
                )
            ),
        },
    ),
    "1.4": Answer(
        "answer_1_4",
        "4cb815722fff641f",
        {
            "a": "Read forwards, the tokens come before the padding. Can their states depend on what comes later?",
            "b": "That is right for the forward direction. What does the backward GRU read first?",
            "d": "It comes after the sentence for one of the two directions only.",
        },
    ),
    "1.5": Exercise(
        "decoder_inputs",
        target_arguments,
        decoder_inputs,
        {
            "The decoder would read the token that it is to predict, and learn to copy it. Move by one position.": (
                lambda target, beginning: target
            ),
            "There is one column too many: the last token is never read, since nothing follows it.": (
                inputs_with_one_more
            ),
            "The first token is replaced, and nothing is moved. The decoder would read what it is to predict.": (
                inputs_that_replace_the_first
            ),
            "Moved the wrong way: at step t the decoder reads the token of step t - 1, not that of t + 1.": (
                inputs_moved_to_the_left
            ),
            "The beginning is missing: at step 1 the decoder reads <s>.": (
                lambda target, beginning: np.roll(target, 1, axis=1)
            ),
        },
    ),
    "1.6": Answer(
        "answer_1_6",
        "9b37b85af05b3db3",
        {
            "2.7": "That is the logarithm to base 10. Use the natural one, math.log.",
            "9.1": "That is the logarithm to base 2. Use the natural one, math.log.",
            "6.4": "That is the logarithm of the number of German tokens. The decoder writes English.",
            "-6.3": "A probability is below 1, so its logarithm is negative. The loss has a minus before it.",
        },
    ),
    "1.7": Exercise(
        "token_loss",
        loss_arguments,
        token_loss,
        {
            "The padding is counted: the mean is over the positions where target != padding.": (
                lambda logits, target, padding: token_losses(logits, target).mean()
            ),
            "Padding is left out of the sum, but the sum is divided by all B·T positions.": (
                lambda logits, target, padding: (token_losses(logits, target) * (target != padding)).mean()
            ),
            "This is the mean of the sentences' means. Each token counts alike: divide the whole sum by all tokens.": (
                loss_of_the_sentences
            ),
            "This is the sum. Divide it by the number of tokens.": (
                lambda logits, target, padding: token_losses(logits, target)[target != padding].sum()
            ),
            "The minus is missing: the loss is -log p.": (
                lambda logits, target, padding: -token_loss(logits, target, padding)
            ),
            "The logarithm is missing: this is the mean of -p.": loss_of_the_probability,
            "The softmax is over the positions (dim=1). It belongs over the vocabulary, dim=2.": (
                loss_over_the_positions
            ),
        },
    ),
    "1.8": Answer(
        "answer_1_8",
        "4703d1736cfd3d81",
        {
            "a": "c has 2H numbers for each sentence. Which sentences have more to say than others?",
            "b": "The short ones have least to put into c.",
        },
    ),
    "1.9": Answer(
        "answer_1_9",
        "cfc86b8bcbdf4574",
        {
            "10": "There it is about twice as much.",
            "20": "There it is more than three times as much, but not four times.",
            "40": "There it is more than four times as much, but not for the first time.",
        },
    ),
    "1.10": Answer(
        "answer_1_10",
        "c3945c51946705ff",
        {
            "a": "The first tokens have the most steps after them, and each step mixes the state.",
            "c": "They could, in a state that is large enough. Look at what is left of an old value after many steps.",
        },
    ),
}
