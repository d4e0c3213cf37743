"""Saving of compiled programs.

`format` is the form of an archive, `files` reads and maps its files, and `writing` replaces it in one step, by means of
a folder of `scratch`. `native` and `device` are the content of archives of programs as JSON values. `loading` links
saved programs, and stands above the back ends.
"""
