"""From what is loaded to what this request sees: assembly, filters, order, fingerprint, refresh."""
