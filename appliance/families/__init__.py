"""Generator families: one file each, unlimited seeded variants of one idea with knobs for difficulty."""
