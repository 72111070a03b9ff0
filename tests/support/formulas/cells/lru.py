import numpy as np
from support.formulas.gated import sigmoid


def step(gates, state, p):
    real, imaginary, direct, gate = np.split(gates, 4)
    _, of_real, of_imaginary = state
    eigenvalue = np.exp(-np.exp(p["nu"]) + 1j * p["theta"])
    c = eigenvalue * (of_real + 1j * of_imaginary) + np.sqrt(1 - abs(eigenvalue) ** 2) * (real + 1j * imaginary)
    of_c = np.split(p["mix.weight"], 2, axis=1)
    output = (of_c[0] - 1j * of_c[1]) @ c  # its real part
    return sigmoid(gate) * (output.real + direct), c.real, c.imag
