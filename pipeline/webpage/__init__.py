"""The report as a web page: what stands on it, its template, its style and its script."""
