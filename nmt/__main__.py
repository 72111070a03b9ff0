"""`python -m nmt`: the command line where the `nmt` script is not on the path."""

import sys

from nmt.cli import main

if __name__ == "__main__":
    sys.exit(main())
