"""Valid values of options, in a module that does not import torch: the command line checks them."""

# Graph search, and its repetition on samples of the rows.
METHODS = ("pc", "fci")
ROWS = ("subsample", "bootstrap")
# How PC orients colliders that contradict one another.
ORIENT = ("first", "both", "separation", "strongest", "clearest", "maxp", "joint")
# Treatment of missing values.
MISSING = ("raise", "drop")
# Null distributions that are fitted and stored with the weights; and all.
FITTED = ("conditional", "sized", "pooled")
# Those drawn from the user's table at a level; with the option for their number of draws.
RESAMPLING = {"permutation": "permutations", "checked": "draws"}
NULLS = (*FITTED, *RESAMPLING)
