"""How the pages become a site: `tox -e docs`."""

project = "Pegboard"
author = "The Pegboard maintainers"
project_copyright = "2026, The Pegboard maintainers"
extensions = ["myst_parser"]
html_theme = "furo"
root_doc = "index"
exclude_patterns = ["generate.py"]
myst_heading_anchors = 3
