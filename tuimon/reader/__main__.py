"""Run the reader process: `python -m tuimon.reader PATH…`."""

import sys

from tuimon.platform_support import hidden_modules

with hidden_modules("typing_extensions"):  # msgspec needs it only for older versions of Python
    import msgspec  # noqa: F401

from tuimon.reader.process import main

sys.exit(main())
