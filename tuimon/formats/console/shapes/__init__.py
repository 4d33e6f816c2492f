"""A line is a shape and its numbers: metric lines of any layout, without knowledge of the program that wrote them.

cutting   a line cut at its numbers; the texts between them are its shape
labels    what the texts beside a number say: its name, unit and stage; the words for steps in many languages
numbers   the numbers of a line, each with its name and its unit
roles     a shape examined once: which number is the step, the epoch, a metric

`families/shaped.py` reads lines with it.
"""
