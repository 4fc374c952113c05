"""What a replay does, one phase after the other, and what it has found so far."""
