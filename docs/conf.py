"""Configuration of the documentation site. After a build of Tilewright: .venv/bin/sphinx-build -W docs build/site

docs/decisions/0055-documentation-site.md gives the reasons for the choice of Sphinx.
"""

import os
import re
import sys
from pathlib import Path

project = "Tilewright"
copyright = "the Tilewright authors"
version = release = re.search(r"project\(Tilewright VERSION (\S+)", (Path(__file__).parents[1] / "CMakeLists.txt").read_text())[1]

# Sphinx imports the Python package to read its docstrings. If the package is not installed, it is imported from the build directory.
build = Path(os.environ.get("TILEWRIGHT_BUILD", Path(__file__).parents[1] / "build"))
try:
    import tilewright  # noqa: F401
except ImportError:
    sys.path.insert(0, str(build / "python"))

extensions = ["myst_parser", "sphinx.ext.autodoc"]
default_role = "code"  # `name` in a docstring is code
autodoc_member_order = "bysource"
smartquotes = False  # "--flag" is not a dash
exclude_patterns = ["examples"]
myst_heading_anchors = 4

html_theme = "furo"
html_title = "Tilewright"
html_show_sourcelink = False
pygments_style = "default"
pygments_dark_style = "monokai"
suppress_warnings = ["misc.highlighting_failure"]  # Pygments has no lexer for some languages in the pages, such as MLIR
