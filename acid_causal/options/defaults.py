"""Values of options that are not given, wherever the option appears.

The null has none here: a weights file says which of its nulls is the default.
"""

MODEL = "acid-base"
ALPHA = 0.05
MISSING = "raise"
DEVICE = "auto"
# Draws of the permutation null for each question.
PERMUTATIONS = 199

# Of a search for a graph.
METHOD = "pc"
ORIENT = "joint"
# Of its repetition on samples of the rows.
ROWS = "subsample"
FRACTION = 0.7

# H0 questions that the nulls of a new model are fitted to.
NULL_QUESTIONS = 100_000
# Of fine-tuning.
FINETUNING_STEPS = 500
FINETUNING_NULL_QUESTIONS = 15_000

# Largest table that the command line reads, in MB.
SIZE_LIMIT = 1000
