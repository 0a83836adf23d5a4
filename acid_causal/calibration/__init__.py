"""The null distributions: their shape, their fit, and what training looks like beside them."""
