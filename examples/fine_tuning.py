"""Fine-tuning: a model adapted to the kind of data in a table, without labels."""

import numpy as np

from acid_causal import ci_test, finetune

# Measured in coarse steps, as by a cheap instrument; y depends on x, and z on nothing.
rng = np.random.default_rng(0)
x, z, noise = rng.normal(size=(3, 300))
y = np.abs(x) + noise
table = np.round(np.column_stack([x, y, z]))

# So that the example takes seconds; in real use leave both at their defaults, which take minutes.
adapted = finetune(table, steps=20, null_questions=1000, progress=False, name="coarse")
adapted.save("coarse.safetensors")

for model in ("acid-base", "coarse.safetensors"):
    dependent = ci_test(table[:, 0], table[:, 1], model=model).pvalue
    independent = ci_test(table[:, 0], table[:, 2], model=model).pvalue
    print(f"{model}: x and y {dependent:.1e}, x and z {independent:.2f}")
