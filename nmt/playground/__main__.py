"""`python -m nmt.playground FOLDER` writes the page."""

import argparse
import sys
from pathlib import Path

from nmt.playground.writing import write_playground
from nmt.system.errors import UserError

parser = argparse.ArgumentParser(prog="python -m nmt.playground", description="Write the page that trains attention.")
parser.add_argument("folder", type=Path, help="where to: an empty folder, or one that does not exist")
try:
    write_playground(parser.parse_args().folder)
except UserError as error:
    print(f"error: {error}", file=sys.stderr)
    sys.exit(2)
