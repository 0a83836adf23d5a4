"""What users bring: tables, their columns, and questions about them."""
