"""Check the built site: `make docs`, then `make site-check`.

Every page: internal links and anchors lead somewhere, nothing is loaded from elsewhere, and no
option begins with a dash where it has two hyphens. Where chromium and chromedriver are installed,
each page is also drawn at the width of a laptop and of a phone: nothing sticks out, the navigation
is visible, no side column is empty, equations have a height, images load, and search finds pages.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from selenium import webdriver
from selenium.webdriver.support.wait import WebDriverWait

SITE = Path(__file__).resolve().parent / "_build" / "html"
LABELS = ["Guide", "API", "Gallery", "Results", "Theory", "Contributing", "Changes"]
WIDTHS = (1280, 390)
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-sync "
    "--disable-background-networking --disable-component-update"
)
LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "object": "data"}
"""Attributes that name what a browser loads by itself; `link` is seen to apart."""
DASH = re.compile(r"(?<!\w)[–—](?=[A-Za-z])\S*")
ELSEWHERE = re.compile(r"(?:url\(|@import)\s*[\"']?((?:https?:)?//[^\"')\s]+)")

LAYOUT = """
const [labels, wide, done] = arguments, faults = [];
const shown = (one) => one.getClientRects().length > 0;
const root = document.documentElement;
if (root.scrollWidth > root.clientWidth)
  faults.push(`is ${root.scrollWidth} pixels wide, not ${root.clientWidth}`);
const links = [...document.querySelectorAll("header a.nav-link")].filter(shown);
const seen = links.map((one) => one.textContent.trim());
if (wide && labels.some((one) => !seen.includes(one)))
  faults.push(`navigation shows only ${seen}`);
const columns = wide ? ".bd-sidebar-primary, .bd-sidebar-secondary" : "none";
for (const one of document.querySelectorAll(columns))
  if (shown(one) && one.getBoundingClientRect().width > 0 && !one.innerText.trim())
    faults.push(`has an empty column ${one.className}`);
for (const one of document.querySelectorAll("math"))
  if (one.closest("article") && shown(one) && !one.getBoundingClientRect().height)
    faults.push(`equation without height: ${one.textContent.slice(0, 40)}`);
for (const one of performance.getEntriesByType("resource"))
  if (!/^(file|data):/.test(one.name)) faults.push(`loads ${one.name}`);
const images = [...document.images];
for (const one of images) one.loading = "eager";
Promise.allSettled(images.map((one) => one.decode())).then(() => {
  for (const one of images)
    if (!one.naturalWidth) faults.push(`image does not load: ${one.getAttribute("src")}`);
  done(faults);
});
"""
"""What is asked of a drawn page; the answer is a list of faults."""


class Page(HTMLParser):
    """The anchors, links, loaded files and text outside of code of one page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.text: list[str] = []
        self.skipped = 0
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect what an element names."""
        named = {name: value or "" for name, value in attrs}
        self.anchors |= {named[name] for name in ("id", "name") if name in named}
        if tag == "a" and "href" in named:
            self.links.append(named["href"])
        elif tag == "link":
            self.loaded.append(named.get("href", ""))
        elif LOADED.get(tag) in named:
            self.loaded.append(named[LOADED[tag]])
        self.loaded += ELSEWHERE.findall(named.get("style", ""))
        self.skipped += tag in ("script", "style")

    def handle_endtag(self, tag: str) -> None:
        """Leave a script or a style."""
        self.skipped -= tag in ("script", "style")

    def handle_data(self, data: str) -> None:
        """Collect text, and what a style loads."""
        if self.skipped:
            self.loaded += ELSEWHERE.findall(data)
        else:
            self.text.append(data)


def is_elsewhere(address: str) -> bool:
    """Return whether an address is not of this site."""
    parts = urlsplit(address)
    return bool(parts.netloc) or parts.scheme not in ("", "data")


def faults_in_text(path: Path, pages: dict[Path, Page]) -> list[str]:
    """Return what is wrong with the HTML of a page."""
    page = pages[path]
    faults = [f"loads {one}" for one in page.loaded if is_elsewhere(one)]
    local = [one for one in page.loaded if one and not urlsplit(one).scheme]
    for address in local + page.links:
        parts = urlsplit(address)
        if is_elsewhere(address) or parts.scheme:
            continue
        target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        anchor = unquote(parts.fragment)
        if not target.is_file():
            faults.append(f"no such file: {address}")
        elif anchor and target in pages and anchor not in pages[target].anchors:
            faults.append(f"no such anchor: {address}")
    return faults + [f"dash before an option: {one}" for one in DASH.findall(" ".join(page.text))]


def faults_in_browser(paths: list[Path], chromium: str, chromedriver: str) -> list[str]:
    """Return what is wrong with the drawn pages."""
    faults = []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        options = webdriver.ChromeOptions()
        options.binary_location = chromium
        for flag in [*FLAGS.split(), f"--user-data-dir={folder}"]:
            options.add_argument(flag)
        service = webdriver.ChromeService(executable_path=chromedriver)
        driver = webdriver.Chrome(options=options, service=service)
        try:
            for path in paths:
                driver.get(path.as_uri())
                for width in WIDTHS:
                    # A window cannot be as narrow as a phone, but what it shows can.
                    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
                    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
                    found = driver.execute_async_script(LAYOUT, LABELS, width == max(WIDTHS))
                    name = path.relative_to(SITE).as_posix()
                    faults += [f"{name} at {width} pixels: {one}" for one in found]
            driver.get((SITE / "search.html").as_uri() + "?q=missing")
            hits = "return document.querySelectorAll('#search-results li a').length"
            WebDriverWait(driver, 30).until(lambda _: driver.execute_script(hits))
        finally:
            driver.quit()
    return faults


def main() -> int:
    """Check every page, print the faults and return the exit code."""
    paths = sorted(one for one in SITE.rglob("*.html") if "_static" not in one.parts)
    if not paths:
        print("There is no site yet. Run `make docs` first.")
        return 1
    pages = {path: Page(path) for path in paths}
    faults = [
        f"{path.relative_to(SITE).as_posix()}: {fault}"
        for path in paths
        for fault in faults_in_text(path, pages)
    ]
    for sheet in SITE.rglob("*.css"):
        found = ELSEWHERE.findall(sheet.read_text(encoding="utf-8"))
        faults += [f"{sheet.relative_to(SITE).as_posix()}: loads {one}" for one in found]
    checks = f"{len(paths)} pages x 4 checks of links, files and text"
    chromium, chromedriver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium and chromedriver:
        faults += faults_in_browser(paths, chromium, chromedriver)
        checks += f", x 6 checks of the layout at {' and '.join(map(str, WIDTHS))} pixels"
    else:
        checks += "; layout not checked, because chromium or chromedriver is missing"
    print("\n".join([*faults, f"{checks}: {len(faults)} faults."]))
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
