"""What a reader opens: tables over all corpora."""
