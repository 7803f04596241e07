"""Paired statistics of contrasts between conditions (paper 5.2, appendix D)."""
