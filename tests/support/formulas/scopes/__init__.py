"""The formula of each scope.

`weights(h, scores, t, p, options)` are the weights of all positions of a sentence for the query h of target position t,
from their scores (None where there is none). p holds the parameters by their names in the module; `normalized` of the
options makes weights of some scores.
"""
