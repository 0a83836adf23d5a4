"""Where p-values come from: nulls fitted beforehand, and nulls drawn from the user's table."""
