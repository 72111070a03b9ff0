"""`nmt ablation` as a script: python scripts/ablation.py --help"""

import sys

from nmt.cli import main

if __name__ == "__main__":
    sys.exit(main(["ablation", *sys.argv[1:]]))
