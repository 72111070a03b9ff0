"""The formula of each score.

`score(h, v, s, p, c)` is the score of a query h with the memory vector v at position s. p holds the parameters by their
names in the module, and c, with coverage, the position's feature: the memory vector is then [v; c], and the matrix that
meets it has one more column.
"""
