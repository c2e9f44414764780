"""torch in its own process: base preparation, LoRA, GRPO, checkpoints."""
