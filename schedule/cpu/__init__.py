"""Default schedules for processors."""
