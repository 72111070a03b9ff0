"""What pyproject.toml cannot say: three top-level folders and the course are installed inside the package, as data.

`configs/`, `checkpoints/`, `data/` and `docs/course/` stay where a reader of the repository expects them. In a wheel
they are in `nmt/bundled/`; `nmt.system.bundled` finds them in either place.
"""

from pathlib import Path

from setuptools import find_packages, setup

BUNDLED = {
    "nmt.bundled.configs": "configs",
    "nmt.bundled.checkpoints": "checkpoints",
    "nmt.bundled.data": "data",
    "nmt.bundled.docs.course": "docs/course",
}
if not Path("docs/course").is_dir():  # an add-on's, which can be taken away
    del BUNDLED["nmt.bundled.docs.course"]

setup(
    packages=[*find_packages(include=["nmt", "nmt.*"]), *BUNDLED],
    package_dir=BUNDLED,
    package_data={
        "nmt": ["py.typed"],
        "nmt.data": ["*.sha256"],
        "nmt.text": ["*.tsv"],
        "nmt.comparison": ["*.css"],
        "nmt.page": ["static/*", "static/vendor/*"],
        "nmt.playground": ["static/*", "static/engine/*"],
        "nmt.bundled.configs": [
            "*.yaml",
            "ablation/*.yaml",
            "multi30k_mechanisms/*.yaml",
            "normalizers/*.yaml",
            "schema.json",
        ],
        "nmt.bundled.checkpoints": [
            f"{folder}/{name}"
            for folder in ("multi30k-??-??", "*-??-??-bahdanau")
            for name in ("model.safetensors", "README.md")
        ],
        "nmt.bundled.data": ["sample/*"],
        "nmt.bundled.docs.course": ["nano_*.py", "exercises/*.py", "mistakes/*", "students/*.ipynb"],
        "nmt.export": ["browser/*"],
    },
    include_package_data=False,
)
