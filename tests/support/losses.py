"""The loss of a plain model's batch."""

from nmt.training.loss import BatchLoss, Loss


def batch_loss(model, batch, smoothing, teacher_forcing_mask=None, r_drop=None) -> Loss:
    return BatchLoss(model, smoothing, r_drop)(batch, teacher_forcing_mask)
