"""Values of options that have few, for whoever checks them: the command line does so before torch.

Where one of these is used is said where it is read.
"""

# Of a search for a graph, and of its repetition on samples of the rows.
METHODS = ("pc", "fci")
ROWS = ("subsample", "bootstrap")
# What becomes of rows with missing values.
MISSING = ("raise", "drop")
# Names of the nulls that are fitted once, and kept with the weights; others are made when a user
# asks.
FITTED = ("conditional", "sized", "pooled")
NULLS = (*FITTED, "permutation")
