"""The sampler: which tasks the next update tries, from what is known of each for the policy of the moment.

`roster` and `state` hold the pool and what was seen of it as arrays, `tiers` and `beta` say where a task stands,
`mixture` and `draw` choose, `desk` does it for a run, `index` opens large pools, `simulation` measures it all.
"""
