"""Console text of a training: what trainers print, through files, `tee`, Ray or logging modules.

text       the only format: which files are it, the text itself, its metric lines and how the run ended
_decoder   lines, one after the other, to the families that may read them
families   metric lines that need code, a table of trainers, lines of any layout; each found by its FAMILY
shapes     lines of any layout: each is a shape, examined once, and its numbers
_marks     strings that metric lines contain, and whether a text can hold such a line
_uniform   lines that one statement printed, read with one regular expression
_patterns  the user's own metric lines, by patterns from the settings
_tasks     logs into which several tasks write, each with a label before its lines
_unread    numbers that gave no point, and patterns for lines that are not understood
_outcome   evidence that the training finished or crashed
_display   lines as a terminal would show them
"""
