"""Tables, and questions about them with known answers, that are not the package's own."""
