"""What a host brings to its tools: processes, background work, a place for long results."""
