"""`python -m nmt.playground FOLDER` writes the page."""

import sys
from pathlib import Path

from nmt.playground.writing import write_playground
from nmt.system.errors import UserError

try:
    [folder] = sys.argv[1:]
    write_playground(Path(folder))
except ValueError:
    sys.exit("usage: python -m nmt.playground FOLDER")
except UserError as error:
    print(error, file=sys.stderr)
    sys.exit(2)
