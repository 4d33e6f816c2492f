"""A line is a shape and its numbers: metric lines of any layout, without knowledge of the program that wrote them.

cutting   a line cut at its numbers; the texts between them are its shape
labels    what the texts beside a number say: its name, unit and stage; the words for steps in many languages
roles     a shape examined once: which number is the step, the epoch, a time, a metric, and the metrics' names

`families/shaped.py` reads lines with it.
"""
