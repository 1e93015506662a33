"""Real text and traces from public services: downloads, text of filings, tokens, and corpora made of them."""
