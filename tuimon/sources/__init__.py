"""Find, follow and watch log files. Nothing in this package depends on a log format, and nothing here writes.

scan        find log files below the given paths, and look for new ones later
listing     list one directory; decide by its name how a directory is searched
layout      classify directory names by the layouts of known libraries
tail        read the new bytes of a file that grows
document    read a file that is rewritten as a whole
sqlite_copy read a SQLite database through a private copy
watch       file system events that shorten the wait before the next poll
filesystem  type of the file system: does it report changes made by other machines?
files       open files safely: read-only, non-blocking, regular files only
"""
