import numpy as np

from support.formulas import sigmoid


def weights(scores, p):
    return sigmoid(np.array(scores) - np.log(len(scores)))
