"""The values that travel through tuimon. All frozen, none knows where it came from or where it goes.

points   what a decoder gives: points, segment starts, facts, damage
events   what a reader tells: streams, columns, status, progress
views    what a panel gives and what a drawing is made of
alerts   what a detector finds

Values are Structs of msgspec, here and elsewhere: the class is made in a thirtieth of the time that a dataclass takes,
and a start makes nearly two hundred of them; a value in an eighth. What a person sets, and what is kept for the next
start, are dataclasses: their fields say more than a type.
"""
