"""What every package may use: it imports no other one."""
