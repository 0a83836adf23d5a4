"""A table of your own: what is known beforehand, how stable each edge is, and a report.

Needs pip install '.[discover]'.
"""

import numpy as np
import pandas as pd

from acid_causal import Knowledge, discover
from acid_causal.discovery.report.html import write_report

# In place of pd.read_csv("your-table.csv"): age and dose act on pressure, and pressure on risk.
rng = np.random.default_rng(0)
age, dose, *noise = rng.normal(size=(4, 400))
pressure = np.tanh(age) - dose + 0.5 * noise[0]
risk = pressure**2 + 0.5 * noise[1]
table = pd.DataFrame({"age": age, "dose": dose, "pressure": pressure, "risk": risk})

found = discover(
    table,
    knowledge=Knowledge(tiers=(("age", "dose"), ("pressure",), ("risk",))),
    bootstrap=20,  # searches on samples of the rows; 100 or more in real use, with n_jobs=-1
)
for edge in found.edges:
    print(f"{edge}: p = {edge.pvalue:.0e}, in {edge.confidence:.0%} of the samples")

write_report(found, "report.html", title="Example")
