"""Training a model, and fine-tuning one to a table."""
