"""Pictures of what training and fine-tuning bring."""
