"""Stories of a static-site generator: pictures, two languages more, a title, and one from long ago."""

from __future__ import annotations

from datetime import datetime

from clew.demo.stories.story import PRESS, ask, close, picture, scene
from clew.demo.talk import Talk, bash, edit, read, talk, task, tool, web_fetch, web_search

STYLE = """\
:root {
  --ink: #1d1d1b;
  --paper: #fbf7ef;
}

article img {
  width: 720px;
}

nav a + a {
  margin-left: 1.5rem;
}
"""

SLUG = """\
export function slugify(title: string): string {
  return title
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "");
}
"""

FEED = """\
export function feed(posts: Post[], site: Site): string {
  const items = posts.map((post) => `<item><title>${post.title}</title><link>${site.url}/${post.slug}</link></item>`);
  return `<rss version="2.0"><channel>${items.join("")}</channel></rss>`;
}
"""


def images(begin: datetime) -> Talk:
    """A screenshot pasted, another one looked at by the tool."""

    def broken(x: int, y: int) -> tuple[int, int, int]:
        return (200, 60, 40) if x > 16 else (251, 247, 239)

    def mended(x: int, y: int) -> tuple[int, int, int]:
        return (120, 160, 90) if 4 < x < 20 and 3 < y < 13 else (251, 247, 239)

    told = ask(
        scene("images", PRESS, begin, branch="narrow-screens"),
        "[Image #1] On my phone the picture runs out of the page on the right. See the red part.",
        images=[picture(24, 16, broken)],
    )
    told = told.reply(
        "The picture is wider than the page. I'll look at the style sheet.",
        thinking="Fixed width in CSS, most likely.",
        call=read(f"{PRESS}/theme/style.css", STYLE),
    ).result()
    told = told.reply(
        "`width: 720px` on every article image. A phone has about 390 of those.",
        call=edit(f"{PRESS}/theme/style.css", "  width: 720px;\n", "  max-width: 100%;\n  height: auto;\n"),
    ).result()
    told = told.reply(call=bash("npm run -s shot -- --width 390 --out /tmp/shot.png", "Take a screenshot")).result("")
    told = told.reply(call=read("/tmp/shot.png", image=picture(24, 16, mended))).result()
    return close(told.reply("The picture now stays inside the page, with its margins. The red part is gone."))


def languages(begin: datetime) -> Talk:
    """Japanese and Chinese: prompts, replies, code and search results."""
    path = f"{PRESS}/src/slug.ts"
    told = scene("languages", PRESS, begin, version="2.1.325", branch="i18n")
    told = ask(told, "日本語の記事タイトルからスラッグを作ると空文字になります。原因を調べてください。")
    told = told.reply("まず `slugify` を確認します。", call=read(path, SLUG)).result()
    told = told.reply(
        "原因は正規表現 `[^a-z0-9]+` です。英数字以外をすべて取り除くため、「桜の季節」のような題名では何も残りません。"
        "Unicode の文字クラス `\\p{L}` と `\\p{N}` を使えば、かな・漢字も残せます。",
        call=edit(path, "/[^a-z0-9]+/g", "/[^\\p{L}\\p{N}]+/gu"),
    ).result()
    told = told.reply(call=bash("npm test -- slug", "スラッグのテスト")).result(
        "✓ 桜の季節 → 桜の季節\n✓ Hello, World! → hello-world\n2 passed"
    )
    told = close(told.reply("直りました。「桜の季節」はそのまま残り、英語の題名は以前と同じ結果になります。"))
    told = ask(told, "中文标题也要能用。另外，全角空格和标点应该怎么处理？")
    told = told.reply(
        "中文标题现在同样可用：`\\p{L}` 包含汉字。全角空格（U+3000）和全角标点不属于字母或数字，"
        "会像半角标点一样变成连字符。",
        call=bash("node -e \"console.log(slugify('春天　来了！你好'))\"", "试一下全角字符"),
    ).result("春天-来了-你好")
    told = close(told.reply("结果是 `春天-来了-你好`，首尾没有多余的连字符。要不要再加一个测试？"))
    told = ask(told, "加。文件名用英文，测试名可以用中文。")
    told = told.reply(
        call=bash("cat >> test/slug.test.ts && npm test -- slug", "添加测试"),
    ).result("✓ 全角标点变成连字符\n3 passed")
    told = told.reply("已添加，三个测试全部通过。")
    return close(told.ai_title("日本語・中文タイトルのスラッグ修正"))


def titled(begin: datetime) -> Talk:
    """A session with a name of its own, a server's tool in it, and a slash command."""
    path = f"{PRESS}/src/feed.ts"
    told = ask(
        scene("titled", PRESS, begin, version="2.1.325"),
        "A reader's feed client chokes on our feed. See my notes on it.",
    )
    told = told.reply(
        "I'll look in your notes.",
        call=tool("mcp__notes__search", query="feed client", limit=3),
    ).result('1. *Feed complaint*, from a reader: "& in a title, and the whole feed is gone"')
    told = told.reply(
        "An ampersand in a title. RSS is XML, and the title goes in as it is.", call=read(path, FEED)
    ).result()
    told = told.reply(
        call=edit(path, "<title>${post.title}</title>", "<title>${escape(post.title)}</title>"),
    ).result()
    told = told.reply(
        call=edit(
            path,
            "export function feed(",
            "function escape(text: string): string {\n"
            '  return text.replace(/&/g, "&amp;").replace(/</g, "&lt;");\n}\n\nexport function feed(',
        )
    ).result()
    told = close(told.reply("Titles are escaped now. Bread & Butter may be published without fear."))
    told = told.command("rename", "feed escaping", "Renamed to: feed escaping").title("feed escaping")
    told = told.agent_name("feed escaping")
    told = told.file("{project}/{session}/custom-title.json", b'{"customTitle":"feed escaping"}')
    return told.last_prompt()


def research(begin: datetime) -> Talk:
    """Looked up on the web, with a message typed while the model was at work."""
    told = ask(scene("research", PRESS, begin), "Is it still true that feed readers want absolute URLs in content?")
    hits = [
        {"title": "Feed content and relative links", "url": "https://example.org/feeds/relative-links"},
        {"title": "What readers do with xml:base", "url": "https://example.net/xml-base-survey"},
    ]
    words = "Most readers resolve relative links against the item's link; several ignore xml:base altogether."
    found = {
        "query": "feed readers relative URLs content xml:base",
        "results": [{"tool_use_id": "srvtoolu_01demo", "content": hits}, words],
        "durationSeconds": 4.2,
    }
    told = told.reply(call=web_search("feed readers relative URLs content xml:base"))
    told = told.queue("enqueue", "also check what they do with srcset")
    told = told.result(f"Results for the query:\n\n{words}", detail=found)
    told = told.queue("remove", "also check what they do with srcset", reason="absorbed_mid_turn")
    told = told.attachment(
        "queued_command",
        prompt="also check what they do with srcset",
        commandMode="prompt",
        origin={"kind": "human"},
        humanTurn=True,
    )
    told = told.reply(
        "And the survey, for srcset.", call=web_fetch("https://example.net/xml-base-survey", "What about srcset?")
    ).result("Of eleven readers tested, nine drop srcset and keep src.")
    told = told.reply(
        "Yes: write absolute URLs. Nine of eleven readers drop `srcset` and keep `src`, so `src` has to be a picture "
        "one would like to see."
    )
    return close(told)


def long_ago(begin: datetime) -> Talk:
    """A session of a version before agents had files of their own: the errand is told in the main file."""
    version = "1.0.117"
    told = scene("long-ago", PRESS, begin, version=version, branch="")
    told = told.summary_line("Static site: first draft of the generator", leaf="5f0c7f5e-3a51-4c1e-9a35-0d9d7f1f6b11")
    told = told.user("Write the smallest static-site generator that could work.")
    told = told.reply(
        "Markdown in, HTML out.",
        call=tool(
            "Write",
            file_path=f"{PRESS}/build.py",
            content="import pathlib, markdown\n\nfor page in pathlib.Path('posts').glob('*.md'):\n"
            "    out = pathlib.Path('site', page.stem + '.html')\n"
            "    out.write_text(markdown.markdown(page.read_text()))\n",
        ),
    ).result()
    child = (
        talk(version=version, seed="names")
        .user("Suggest a name for a static-site generator. One word.")
        .reply("Pressroom.")
    )
    told = told.reply(call=task("Find a name", "Suggest a name for a static-site generator. One word.")).agent(0, child)
    told = told.reply("Six lines, and a name: Pressroom. It has no configuration, which is its best feature.")
    told = told.pause(minutes=9).user("ship it").reply(call=bash("git tag v0.0.1 && git push --tags")).result("")
    return told.reply("v0.0.1 is out.")
