"""docstructure: does document structure help dense retrieval, and which mechanism carries the benefit?"""
