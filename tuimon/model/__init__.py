"""Immutable values that are passed between packages.

points   output of a decoder: points, segment starts, facts, damage
events   output of the reader: streams, columns, status, progress
views    output of a panel, input of a drawing
alerts   output of a detector

Values are msgspec Structs, here and elsewhere: a class is created in a thirtieth of a dataclass's time, and nearly two
hundred are created at start-up; an instance takes an eighth. Settings and saved state are dataclasses, whose fields
carry more than a type.
"""
