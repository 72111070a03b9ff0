"""What pyproject.toml cannot say: three top-level folders are installed inside the package, as data.

`configs/`, `checkpoints/` and `data/` stay where a reader of the repository expects them. In a wheel they are in
`nmt/bundled/`; `nmt.system.bundled` finds them in either place.
"""

from setuptools import find_packages, setup

BUNDLED = {
    "nmt.bundled.configs": "configs",
    "nmt.bundled.checkpoints": "checkpoints",
    "nmt.bundled.data": "data",
}

setup(
    packages=[*find_packages(include=["nmt", "nmt.*"]), *BUNDLED],
    package_dir=BUNDLED,
    package_data={
        "nmt": ["py.typed"],
        "nmt.data": ["*.sha256"],
        "nmt.text": ["*.tsv"],
        "nmt.page": ["static/*", "static/vendor/*"],
        "nmt.bundled.configs": ["*.yaml", "ablation/*.yaml", "multi30k_mechanisms/*.yaml", "schema.json"],
        "nmt.bundled.checkpoints": [
            f"{folder}/{name}"
            for folder in ("multi30k-??-??", "*-??-??-bahdanau")
            for name in ("model.safetensors", "README.md")
        ],
        "nmt.bundled.data": ["sample/*"],
        "nmt.export": ["browser/*"],
    },
    include_package_data=False,
)
