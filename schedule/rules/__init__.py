"""Default schedules by rules: the view of a block, the search for a rule, and the results, for every kind of target."""
