"""Facts about programs: what passes and schedules ask."""
