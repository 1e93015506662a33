"""A queue one can watch: what a replay decides at every step, written down, and the page that plays it."""
