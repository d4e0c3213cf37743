"""`stepwell explain`: a page with a program at every landing, the changes of passes, remarks and assembly."""
