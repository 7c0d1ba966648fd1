"""How Sphinx builds the site from the pages that docs/site/build.py has laid out."""

import lapwing

project = "Lapwing"
author = "the Lapwing contributors"
project_copyright = author
version = release = lapwing.__version__

extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["files"]

myst_heading_anchors = 4  # the same anchors as on the pages of a code host
myst_enable_extensions = ["html_image"]  # <img> is a picture of the site, too
myst_links_external_new_tab = False
suppress_warnings: list[str] = []
nitpicky = True

highlight_language = "text"  # a block without a language is output, not Python
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"

html_theme = "furo"
html_title = f"Lapwing {release}"
html_static_path = ["static"]
html_css_files = ["lapwing.css"]
html_favicon = "static/icon.svg"
html_copy_source = False
html_show_copyright = False
html_permalinks_icon = "#"
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0b5c6b", "color-brand-content": "#0b5c6b"},
    "dark_css_variables": {"color-brand-primary": "#6fc6d4", "color-brand-content": "#6fc6d4"},
}
