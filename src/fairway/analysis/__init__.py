"""From rows to metrics, claims, tables and figures; knows nothing of engines."""
