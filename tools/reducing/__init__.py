"""`stepwell reduce`: makes programs and pipelines as small as still fail."""
