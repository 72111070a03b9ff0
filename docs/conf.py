"""How Sphinx builds the documentation: `make docs`. Every warning is an error."""

import os
import sys
from pathlib import Path

from nmt import __version__

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "nmt"
author = "the nmt authors"
copyright = "2026, the nmt authors"
version = release = __version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "demo_link", "repository_files", "mathml"]
exclude_patterns = ["_ext", "course/mistakes"]
nitpicky = True
nitpick_ignore_regex = [
    # Other projects' documentation is not read: the build needs no network.
    (r"py:.*", r"(torch|jaxtyping|numpy|pydantic|pathlib|collections|typing|np|annotated_types)\b.*"),
    (r"py:.*", r"(Tensor|Float|Int|Bool|Path|Figure|nn\.Module|Module|Sequence|Mapping|Iterator|Callable|Any)"),
    (r"py:.*", r"(NDArray|ndarray)"),
    (r"py:class", r"Loaded"),  # a checkpoint that was read, which is no part of the public functions
    (r"py:class", r"[A-Z]( [A-Z])*"),  # the dimensions in a tensor's shape
]

myst_enable_extensions = ["dollarmath", "colon_fence", "deflist", "attrs_inline", "attrs_block", "fieldlist"]
myst_heading_anchors = 4
myst_links_external_new_tab = False

# off: show the tutorial with the outputs that it is kept with; force: run it, as continuous integration does.
nb_execution_mode = os.environ.get("NMT_DOCS_EXECUTE", "off")
nb_execution_excludepatterns = ["course/students/*"]  # lessons to fill in
nb_execution_timeout = 1800  # seconds for a cell, also on a busy machine
nb_execution_raise_on_error = True
nb_execution_show_tb = True
nb_merge_streams = True

default_role = "code"  # docstrings write `name` as Markdown does
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_class_signature = "mixed"
python_maximum_signature_line_length = 100

html_theme = "furo"
html_title = f"nmt {version}"
html_static_path = ["_static"]
html_css_files = ["nmt.css"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True}
pygments_style = "friendly"
pygments_dark_style = "github-dark"
