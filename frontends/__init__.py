"""Text, models and Python programs into dialects."""
