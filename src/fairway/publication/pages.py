"""The looks of every HTML page that lies in the report: one style, and nothing from another file."""

from __future__ import annotations

import html

_STYLE = """\
body { font: 14px/1.45 system-ui, sans-serif; color: #1a1a1a; background: #fff; margin: 1.5rem; max-width: 75rem }
table { border-collapse: collapse; margin: .8rem 0; font-size: 13px }
th, td { text-align: left; vertical-align: top; padding: .25rem .6rem; border-bottom: 1px solid #ddd }
th { border-bottom: 2px solid #666 }
code { font-size: 12px; overflow-wrap: anywhere }
pre { font-size: 12px; background: #f6f6f6; padding: .4rem .6rem; overflow-x: auto }
img { max-width: 100% }
h1 { font-size: 1.4rem }
"""


def html_page(title: str, body: str, style: str = "") -> str:
    """Return a whole page around a body of HTML; ``style`` is added to the common one."""
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title>\n'
        f"<style>\n{_STYLE}{style}</style></head>\n<body>\n{body}\n</body></html>\n"
    )
