"""What readers open about a run: the paper and the pages of the HTML report, both filled from the run's own files."""
