"""The sampler: which tasks the next update tries, from what is known of each for the policy of the moment."""
