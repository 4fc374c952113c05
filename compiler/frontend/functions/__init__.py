"""What tensors can do, by topic: functions of lazy values with NumPy's names and rules."""
