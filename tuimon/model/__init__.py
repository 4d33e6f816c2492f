"""The values that travel through tuimon. All frozen, none knows where it came from or where it goes.

points   what a decoder gives: points, segment starts, facts, damage
events   what a reader tells: streams, columns, status, progress
views    what a panel gives and what a drawing is made of
alerts   what a detector finds
"""
