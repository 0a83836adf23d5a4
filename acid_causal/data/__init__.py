"""Data that come with the package."""
