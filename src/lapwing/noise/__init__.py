"""The noise: where randomness comes from, the exact sampler, its distributions, the mechanism and its intervals."""
