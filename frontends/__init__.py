"""Front ends: translate text, models and Python programs into the dialects."""
