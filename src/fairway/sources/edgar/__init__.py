"""SEC EDGAR: a pinned list of filings, their documents, and the documents' text by section."""
