"""Task kinds: one file each, named as in `pool.toml`."""
