"""Does a run replicate the paper? Every published number beside the run's own, with a verdict and its reason."""
