"""`python -m tuimon.reader PATH…`: see process.py."""

import sys

from tuimon.reader.process import main

sys.exit(main())
