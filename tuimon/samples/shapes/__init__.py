"""File shapes: each module defines a SHAPE, which yields the rows of a file."""
