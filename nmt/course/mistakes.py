"""nano_nmt.py with one of fifteen mistakes in it, and whether a student's mend is one (docs/course/mistakes)."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from nmt.system import bundled, files
from nmt.system.errors import UserError

FOLDER = bundled.ROOT / "docs" / "course"
MISTAKES = FOLDER / "mistakes"
SECONDS = 300  # that a check may take; it needs ten of them on an idle core


def patch_of(number: str) -> Path:
    """The patch of a mistake, by its number. Raises `UserError` if there is none."""
    paths = {path.name[:2]: path for path in sorted(MISTAKES.glob("*.patch"))}
    if number.zfill(2) not in paths:
        raise UserError(f"there is no mistake {number}: the mistakes are 1 to {len(paths)}")
    return paths[number.zfill(2)]


def broken(number: str) -> str:
    """nano_nmt.py with a mistake in it."""
    text = (FOLDER / "nano_nmt.py").read_text(encoding="utf-8")
    for hunk in re.split(r"(?m)^@@.*\n", patch_of(number).read_text(encoding="utf-8"))[1:]:
        lines = hunk.splitlines(keepends=True)
        before, after = ("".join(line[1:] for line in lines if line[0] != sign) for sign in "+-")
        if text.count(before) != 1:
            raise ValueError(f"{patch_of(number).name} does not apply:\n{hunk}")
        text = text.replace(before, after)
    return text


def write_broken(number: str, folder: Path) -> int:
    """Write the broken program and its symptoms. Raises `UserError` if one of the files exists."""
    name = patch_of(number).name[:2]
    contents = {f"broken_{name}.py": broken(number).encode()}
    contents |= {f"symptoms_{name}{end}": (MISTAKES / f"symptoms_{name}{end}").read_bytes() for end in (".md", ".png")}
    for file in contents:
        if (folder / file).exists() or (folder / file).is_symlink():
            raise UserError(f"{folder / file} exists: remove it, or name another folder")
    for file, content in contents.items():
        files.write(folder / file, content)
    print(f"Written: {', '.join(str(folder / file) for file in contents)}")
    print(f"Find the mistake, mend it, then: nmt course check {folder / f'broken_{name}.py'}")
    return 0


def check_mend(path: Path) -> int:
    """Print whether a mended program does what nano_nmt.py does. Returns 1 if not."""
    match = re.search(r"broken_(\d+)", path.stem)
    if not match or not path.is_file():
        raise UserError(f"{path}: name a mended file broken_N.py, with the number of its mistake")
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "broken.py").write_text(broken(match[1]), encoding="utf-8")
        programs = [FOLDER / "nano_nmt.py", Path(folder) / "broken.py", path.resolve()]
        command = [sys.executable, str(MISTAKES / "probes.py"), *map(str, programs)]
        try:
            process = subprocess.run(
                command, cwd=folder, stdout=subprocess.PIPE, timeout=SECONDS, env=os.environ | {"OMP_NUM_THREADS": "1"}
            )
        except subprocess.TimeoutExpired:
            print(f"{path} wrong: it was stopped after {SECONDS} seconds. Does a loop not end?")
            return 1
    if process.returncode:
        print(f"{path} wrong: the process that ran it ended with exit code {process.returncode}")
        return 1
    different = json.loads(process.stdout)
    if not different:
        print(f"{path} right: it does what nano_nmt.py does. Which line was it, and which symptom follows from it?")
    elif all(how["as_broken"] for how in different.values()):
        print(f"{path} wrong: the mistake is still in it")
    for name, how in list(different.items())[:3]:
        if how["error"]:
            print(f"{path} wrong: {name}: {how['error'][:300]}")
            break
        if not how["as_broken"]:
            print(f"{path} wrong: {name} is neither right nor as it was before your changes")
    return int(bool(different))
