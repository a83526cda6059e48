"""Draw architecture.svg from architecture.toml. With `--check`, only say whether the picture is current."""

import sys
import tomllib
from html import escape
from pathlib import Path

HERE = Path(__file__).parent
WIDTH, LABEL, MARGIN, GAP = 960, 130, 16, 10
HEIGHT, BETWEEN, TOP = 62, 26, 20
FILLS = {"": "#eef2f7", "core": "#dbeafe", "hooks": "#fef3c7", "yours": "#dcfce7"}
STYLE = (
    "text { font-family: system-ui, sans-serif; fill: #1f2937; text-anchor: middle }"
    " .name { font-size: 15px; font-weight: 600 } .note { font-size: 12px; fill: #4b5563 }"
    " .label { font-size: 14px; text-anchor: start; fill: #374151 } rect { stroke: #94a3b8; rx: 6px }"
    " .arrow { stroke: #94a3b8; stroke-width: 1.5; marker-end: url(#tip) }"
)
TIP = (
    '<marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
    '<path d="M0 0 L8 4 L0 8 z" fill="#94a3b8"/></marker>'
)


def box(x: float, y: float, width: float, about: dict[str, str], kind: str) -> list[str]:
    """One rectangle with a name and a note."""
    middle = x + width / 2
    fill = FILLS[about.get("kind", kind)]
    return [
        f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{HEIGHT}" fill="{fill}"/>',
        f'<text class="name" x="{middle:g}" y="{y + 27:g}">{escape(about["name"])}</text>',
        f'<text class="note" x="{middle:g}" y="{y + 47:g}">{escape(about["note"])}</text>',
    ]


def draw(source: dict) -> str:
    """The picture as SVG."""
    rows, parts, y = source["row"], [], TOP
    for number, row in enumerate(rows):
        boxes = row["boxes"]
        width = (WIDTH - LABEL - MARGIN - GAP * (len(boxes) - 1)) / len(boxes)
        parts.append(f'<text class="label" x="{MARGIN}" y="{y + HEIGHT / 2 + 5:g}">{escape(row["label"])}</text>')
        for place, about in enumerate(boxes):
            parts += box(LABEL + place * (width + GAP), y, width, about, row.get("kind", ""))
        if number + 1 < len(rows) and row.get("arrow", True):
            x = LABEL + (WIDTH - LABEL - MARGIN) / 2
            parts.append(f'<line class="arrow" x1="{x:g}" y1="{y + HEIGHT + 3}" x2="{x:g}" y2="{y + HEIGHT + 22}"/>')
        y += HEIGHT + BETWEEN
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y - BETWEEN + TOP}" role="img">'
    body = [head, f"<title>{escape(source['title'])}</title>", f"<style>{STYLE}</style>", f"<defs>{TIP}</defs>"]
    return "\n".join([*body, '<rect width="100%" height="100%" fill="#ffffff" stroke="none"/>', *parts, "</svg>\n"])


def main() -> int:
    """Write the picture, or say that it is not current."""
    made = draw(tomllib.loads((HERE / "architecture.toml").read_text()))
    target = HERE / "architecture.svg"
    if "--check" in sys.argv:
        if target.read_text() != made:
            print("docs/pictures/architecture.svg is not current. Run python docs/pictures/draw.py.", file=sys.stderr)
            return 1
        return 0
    target.write_text(made)
    return 0


if __name__ == "__main__":
    sys.exit(main())
