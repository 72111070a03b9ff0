"""`nmt evaluate` as a script: python scripts/evaluate.py --help"""

import sys

from nmt.cli import main

if __name__ == "__main__":
    sys.exit(main(["evaluate", *sys.argv[1:]]))
