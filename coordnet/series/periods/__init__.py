"""Finding a period: periodograms, likelihoods, candidates."""
