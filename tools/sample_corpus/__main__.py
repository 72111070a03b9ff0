"""`python -m tools.sample_corpus FOLDER` writes the sample corpus."""

import argparse
import sys
from pathlib import Path

from nmt.system.errors import UserError
from tools.sample_corpus import write


def main() -> int:
    """Read the folder from the command line and write the corpus there; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.sample_corpus", description="Write the synthetic sample corpus."
    )
    parser.add_argument("folder", nargs="?", type=Path, default=Path("data/sample"), help="default: %(default)s")
    try:
        write(parser.parse_args().folder)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
