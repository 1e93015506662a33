"""The figures: one module each, one style."""
