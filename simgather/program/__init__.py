"""What each rank's host thread does, decided by policy and execution order alone."""
