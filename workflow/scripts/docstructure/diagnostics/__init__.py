"""What a reader checks before believing an effect: sizes, derangement, losses, routing, costs (paper 3.2 to 6.4)."""
