"""`python -m nmt.sample_corpus FOLDER` writes the sample corpus."""

import argparse
import sys
from pathlib import Path

from nmt.sample_corpus import write
from nmt.system.errors import UserError


def main() -> int:
    """Read the folder from the command line and write the corpus there; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m nmt.sample_corpus", description="Write the synthetic sample corpus."
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
