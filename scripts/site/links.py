"""Links of the manual that lead out of it, to the files on GitHub. Other links stay, and mkdocs checks them."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
REPOSITORY = "https://github.com/heaplapse/heaplapse/blob/main/"


def on_page_markdown(markdown, page, **_):
    folder = (ROOT / "docs" / page.file.src_uri).parent

    def outside(match):
        path, anchor = match[1], match[2] or ""
        if "://" in path:
            return match[0]
        target = (folder / path).resolve()
        inside = target.is_relative_to(ROOT / "docs")
        if not target.exists() or inside and target.is_file():
            return match[0]
        return f"]({REPOSITORY}{target.relative_to(ROOT)}{anchor})"

    return re.sub(r"\]\(([^)\s#]+)(#[^)\s]*)?\)", outside, markdown)
