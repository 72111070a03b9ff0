"""`python -m nmt.sample_corpus FOLDER` writes the sample corpus."""

import argparse
from pathlib import Path

from nmt.sample_corpus import write


def main() -> None:
    """Read the folder from the command line and write the corpus there."""
    parser = argparse.ArgumentParser(
        prog="python -m nmt.sample_corpus", description="Write the synthetic sample corpus."
    )
    parser.add_argument("folder", nargs="?", type=Path, default=Path("data/sample"), help="default: %(default)s")
    write(parser.parse_args().folder)


if __name__ == "__main__":
    main()
