"""What passes ask about a program without changing it."""
