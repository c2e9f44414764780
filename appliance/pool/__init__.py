"""The governed pool: task folders in memory, their change records and review states."""
