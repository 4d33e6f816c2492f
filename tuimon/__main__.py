"""Run the command line as `python -m tuimon`."""

import sys

from tuimon.commands import main

sys.exit(main())
