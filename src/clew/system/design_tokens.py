"""The colours, sizes and fonts of clew: one set for web pages, exports, charts and terminals. docs/web.md explains them.

    from clew.system.design_tokens import DARK, token_css

    DARK["accent"]     # "#ff6f6b"
    token_css()        # ":root { color-scheme: light dark; --accent: light-dark(#b3262d, #ff6f6b); … }"

Text colours have a contrast of at least 4.5 on every ground they are used on; `DATA` is the palette of Okabe and Ito,
which stays distinguishable with every kind of colour blindness.
"""

from __future__ import annotations

LIGHT = {
    "ground": "#fcfcfb",  # the page
    "raised": "#ffffff",  # cards, menus, inputs
    "sunken": "#f4f3f0",  # code, tracks of gauges, the rail
    "line": "#e4e3df",
    "edge": "#8b8a85",  # borders of inputs, which need a contrast of 3
    "text": "#1c1d20",
    "quiet": "#5d6068",
    "accent": "#b3262d",  # the thread, the current item
    "accent-ground": "#fbeeec",
    "link": "#1f5fbf",
    "good": "#187545",
    "warn": "#8a5a00",
    "bad": "#b3262d",
    "prompt": "#f6efe9",  # ground of prompts and of other decisions of a person
    "added": "#e6f4ea",
    "removed": "#fbe9e7",
    "added-word": "#b7e3c4",
    "removed-word": "#f5c4bf",
    "mark": "#ffe58a",
    "code-keyword": "#8a3b9c",
    "code-string": "#1b6b3a",
    "code-number": "#8a4a00",
    "code-comment": "#676a70",
    "code-name": "#1f5fbf",
}
DARK = {
    "ground": "#16171a",
    "raised": "#1d1f23",
    "sunken": "#101114",
    "line": "#2d3036",
    "edge": "#70747d",
    "text": "#e7e6e3",
    "quiet": "#a1a5ae",
    "accent": "#ff6f6b",
    "accent-ground": "#33201f",
    "link": "#8ab4ff",
    "good": "#5ccb8f",
    "warn": "#f0b64d",
    "bad": "#ff6f6b",
    "prompt": "#282320",
    "added": "#173324",
    "removed": "#3a1f1f",
    "added-word": "#23583a",
    "removed-word": "#6b2f2d",
    "mark": "#5f4d00",
    "code-keyword": "#d7a1ee",
    "code-string": "#8fd3a0",
    "code-number": "#e9b872",
    "code-comment": "#9a9ea7",
    "code-name": "#8ab4ff",
}
# For terminals whose ground is not known: a contrast of at least 3 on each that terminals begin with. These are colours
# of the 256 that nearly every terminal has.
ANY_GROUND = {
    "quiet": "#767676",
    "accent": "#d75f5f",
    "link": "#0087af",
    "good": "#008700",
    "warn": "#af5f00",
    "bad": "#d75f5f",
    "code-keyword": "#af5faf",
    "code-string": "#008700",
    "code-number": "#af5f00",
    "code-comment": "#767676",
    "code-name": "#0087af",
}
DATA = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#7f7f7f")
HEAT_LIGHT = ("#eeece8", "#f7d9cf", "#efb0a2", "#e07f73", "#c94a4a", "#8e1c24")
HEAT_DARK = ("#24262b", "#43282a", "#6b3233", "#9a4341", "#cf5c59", "#ff8f8a")
SANS = '"Inter", system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif'
MONO = '"JetBrains Mono", ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, monospace'
SIZES = (12, 14, 16, 20, 28)  # pixels at the default size of the browser


def token_css() -> str:
    """Return the tokens as CSS custom properties. `data-theme` on the root element overrides the system's theme."""
    colours = {name: f"light-dark({value}, {DARK[name]})" for name, value in LIGHT.items()}
    colours |= {f"data-{number}": value for number, value in enumerate(DATA, 1)}
    colours |= {
        f"heat-{step}": f"light-dark({light}, {dark})"
        for step, (light, dark) in enumerate(zip(HEAT_LIGHT, HEAT_DARK, strict=True))
    }
    other = {
        "sans": SANS,
        "mono": MONO,
        **{f"size-{size}": f"{size / 16:g}rem" for size in SIZES},
        "radius": "6px",
        "shadow": "0 8px 24px light-dark(rgb(28 29 32 / 0.14), rgb(0 0 0 / 0.5))",
    }
    lines = "\n".join(f"  --{name}: {value};" for name, value in {**colours, **other}.items())
    return (
        f":root {{\n  color-scheme: light dark;\n{lines}\n}}\n"
        ':root[data-theme="light"] { color-scheme: light; }\n'
        ':root[data-theme="dark"] { color-scheme: dark; }\n'
        "@media print { :root, :root[data-theme] { color-scheme: light; } }\n"
    )
