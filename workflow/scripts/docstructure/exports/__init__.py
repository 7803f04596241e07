"""Exports: rankings, judgements and scores in the formats of other tools, so that they can check ours."""
