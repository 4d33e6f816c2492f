"""`python -m tuimon.reader PATH…`: see process.py."""

import sys

from tuimon.lean import without

with without("typing_extensions"):  # of which msgspec needs nothing that this Python has not
    import msgspec  # noqa: F401

from tuimon.reader.process import main

sys.exit(main())
