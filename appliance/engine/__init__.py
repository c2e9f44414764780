"""llama.cpp in its own process: sequences, batches, sampling, adapters."""
