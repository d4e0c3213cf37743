raise ValueError("closed")
