"""Saving of compiled programs.

`format` is the form of an archive. `native` and `device` are the content of archives of programs as JSON values.
`loading` links saved programs, and stands above the back ends.
"""
