"""The files that sessions changed, and who wrote their lines: from transcripts alone."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import expect

from benchmarks.served import Served
from clew.demo.demo_tree import DemoSummary
from clew.demo.talk import edit, talk
from clew.demo.tool_inputs import write
from clew.facts.secrets.mask_secrets import mask_lines
from tests.web.chromium import accessible, browsing, visiting

PRICING = "/home/ada/work/bakery-orders/src/orders/pricing.py"
SECRET = (
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEAx0Zx9Qw8Er7Ty6Ui5Op4\n"
    "As3Df2Gh1Jk0Lz9Qw8Er7Ty6Ui5Op4As3Df2\n-----END RSA PRIVATE KEY-----"
)


def test_files_are_listed_with_the_sessions_that_changed_them(client: httpx.Client, demo: DemoSummary) -> None:
    page = unescape(client.get("/files").text)
    assert f"/blame?file={PRICING}" in page.replace("%2F", "/")
    assert "14 files changed by sessions" in page
    assert re.search(r'<span class="quiet">src/orders/</span>pricing\.py</a>', page)
    assert f'<a href="/session/{demo.sessions["rounding"]}">Fix one-cent rounding difference' in page
    found = client.get("/files", params={"q": "SRC pricing"}).text
    assert "1 file changed" in found and "menu.py" not in found
    own = client.get("/files", params={"session": demo.sessions["rounding"]}).text
    assert "2 files changed" in own and "one session ✕" in own
    assert "No file matches." in client.get("/files", params={"q": "nowhere"}).text


def test_lines_name_the_prompt_that_wrote_them(client: httpx.Client, demo: DemoSummary) -> None:
    page = unescape(client.get("/blame", params={"file": PRICING}).text)
    line = page.index("ROUND_HALF_UP, Decimal</code>")
    assert '<span class="t-keyword">from</span>' in page
    who = page.rindex('<td class="who"', 0, line)
    assert f'<a href="/session/{demo.sessions["rounding"]}/turn/2" title="Good. Use Decimal' in page[who:line]
    assert "before the first recorded change" in page and "Reconstructed from the transcripts" in page
    assert page.count('<td class="number" id="line-') == 19


@pytest.fixture(scope="module")
def on_disk(demo: DemoSummary, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file on the disk, of which a session recorded only an edit."""
    path = tmp_path_factory.mktemp("disk") / "private.txt"
    path.write_text("only on the disk\n")
    named = edit(str(path), "old words", "new words")
    talk(seed="disk", cwd="/home/ada/x").user("change it").reply(call=named).result(
        "The file has been updated.", detail={}
    ).write(demo.root)
    return path


@pytest.mark.parametrize("name", ["/etc/passwd", "../../etc/passwd", "", "private.txt", "/proc/self/environ", "x\0y"])
def test_a_file_that_no_session_changed_is_not_found(client: httpx.Client, on_disk: Path, name: str) -> None:
    answer = client.get("/blame", params={"file": name})
    assert answer.status_code == 404 and "root:" not in answer.text


def test_the_disk_is_never_read(client: httpx.Client, on_disk: Path) -> None:
    answer = client.get("/blame", params={"file": str(on_disk)})
    assert answer.status_code == 200 and "only on the disk" not in answer.text
    assert "The transcripts do not contain the whole file" in answer.text and "change it" in answer.text
    assert client.get("/blame", params={"file": str(on_disk.parent)}).status_code == 404


def test_secrets_of_several_lines_are_masked_and_markup_is_escaped(client: httpx.Client, demo: DemoSummary) -> None:
    path = "/home/ada/x/<script>pwned()</script>/key.pem"
    text = f"<b>first</b>\n{SECRET}\nlast"
    talk(seed="pem", cwd="/home/ada/x").user("write").reply(call=write(path, text)).result().write(demo.root)
    for address in ("/files", f"/blame?file={path}"):
        page = client.get(address).text
        assert (
            "<script>pwned" not in page
            and "<b>first" not in page
            and "MIIEpAIBAAK" not in page
            and "Op4As3Df2" not in page
        )
    assert page.count('id="line-') == 6 and "<code>last</code>" in page


def test_a_secret_in_the_path_of_a_file_is_not_in_its_address(client: httpx.Client, demo: DemoSummary) -> None:
    key = "ghp_" + "Ab3dEf6hIj" * 3 + "KLMNOP"
    call = write(f"/home/ada/{key}/notes.txt", "hello\n")
    talk(seed="path", cwd="/home/ada/keys").user("note it").reply(call=call).result().write(demo.root)
    page = client.get("/files", params={"q": "notes.txt"}).text
    (address,) = re.findall(r'href="(/blame\?file=[0-9a-f]{64})"', page)
    blame = client.get(address).text
    assert "<code>hello</code>" in blame and key not in page + blame


def test_a_masked_text_keeps_its_lines() -> None:
    assert mask_lines(["a", *SECRET.split("\n"), "b"]) == ["a", "[REDACTED:private-key]", "", "", "", "b"]
    assert mask_lines([]) == [""]


def test_files_are_searched_while_typing_and_read_by_all(served: Served, demo: DemoSummary) -> None:
    with browsing() as browser, visiting(browser, served, viewport={"width": 390, "height": 844}) as (page, _):
        page.goto(f"{served.base}/files")
        page.get_by_role("searchbox").press_sequentially("pricing.py src")
        expect(page.locator(".file")).to_have_count(1)
        assert "q=pricing.py" in page.url and accessible(page) == []
        page.locator(".file .path").click()
        expect(page.locator("h1")).to_have_text("src/orders/pricing.py")
        assert accessible(page) == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
