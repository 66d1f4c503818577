"""The documentation site: .venv/bin/sphinx-build -W docs build/site. docs/decisions/0055-documentation-site.md says why Sphinx."""

import re
from pathlib import Path

project = "Tilewright"
copyright = "the Tilewright authors"
version = release = re.search(r"project\(Tilewright VERSION (\S+)", (Path(__file__).parents[1] / "CMakeLists.txt").read_text())[1]

extensions = ["myst_parser"]
exclude_patterns = ["examples"]
myst_heading_anchors = 4

html_theme = "furo"
html_title = "Tilewright"
html_show_sourcelink = False
pygments_style = "default"
pygments_dark_style = "monokai"
suppress_warnings = ["misc.highlighting_failure"]  # Pygments has no lexer for some languages in the pages, such as MLIR
