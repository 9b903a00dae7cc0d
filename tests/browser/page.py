#!/usr/bin/env python3
"""Opens a page of tares in headless Chromium and checks what a reader would notice.

    page.py report.html [--screenshots DIR] [--expect CSS ...]

At 1280 and 390 pixels, light and dark: no message on the console, no request to anywhere, no sideways scrolling, and every
CSS selector of --expect matches something that is visible and has a size. Needs Debian's chromium and
nothing else. Exit code 0 when all is well, 1 with one line per finding, 77 when Chromium is not installed.
"""

import argparse
import base64
import json
import os
import pathlib
import select
import shutil
import subprocess
import sys
import tempfile

FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
]

# What is asked of the page: each expectation's count of visible matches, and whether the page is wider than the window.
LOOK = """(expected) => {
const visible = (element) => {
  const box = element.getBoundingClientRect();
  return box.width > 4 && box.height > 4 && element.checkVisibility();
};
const counts = {};
for (const selector of expected) {
  counts[selector] = [...document.querySelectorAll(selector)].filter(visible).length;
}
const broken = [...document.images].filter((image) => visible(image) && image.naturalWidth === 0).length;
const unnamed = [...document.querySelectorAll('svg')].filter((svg) => !svg.querySelector('title')).length
  + [...document.images].filter((image) => !image.alt).length;
return { counts, broken, unnamed, wide: document.documentElement.scrollWidth, window: window.innerWidth };
}"""


class Browser:
    """A Chromium spoken to in its own protocol over a pipe, so that no driver is needed."""

    def __init__(self, width, dark):
        self.profile = tempfile.TemporaryDirectory()
        down_read, self.down = os.pipe()
        self.up, up_write = os.pipe()

        def wire():
            # Chromium reads commands from descriptor 3 and answers on 4.
            os.dup2(os.dup(down_read), 3)
            os.dup2(os.dup(up_write), 4)

        self.process = subprocess.Popen(
            ["chromium", *FLAGS, "--remote-debugging-pipe", f"--user-data-dir={self.profile.name}", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            preexec_fn=wire, close_fds=False)
        os.close(down_read)
        os.close(up_write)
        self.buffer, self.number, self.session, self.events = b"", 0, None, []
        target = self.call("Target.createTarget", {"url": "about:blank"})["targetId"]
        self.session = self.call("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride",
                  {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600})
        shade = "dark" if dark else "light"
        self.call("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": shade}]})

    def message(self, wait):
        """The next message, or None after `wait` seconds of silence."""
        while b"\0" not in self.buffer:
            if not select.select([self.up], [], [], wait)[0]:
                return None
            part = os.read(self.up, 1 << 20)
            if not part:
                raise RuntimeError("Chromium ended")
            self.buffer += part
        text, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, parameters=None):
        """Sends a command and waits for its answer; events that come first are kept."""
        self.number += 1
        command = {"id": self.number, "method": method, "params": parameters or {}}
        if self.session:
            command["sessionId"] = self.session
        os.write(self.down, json.dumps(command).encode() + b"\0")
        while True:
            message = self.message(60)
            if message is None:
                raise RuntimeError(f"Chromium did not answer {method}")
            if message.get("id") == self.number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']['message']}")
                return message["result"]
            self.events.append(message)

    def open(self, address):
        """Loads a page and waits until it and half a second of silence after it are over."""
        self.call("Page.navigate", {"url": address})
        while (message := self.message(0.5 if any(e.get("method") == "Page.loadEventFired" for e in self.events) else 30)):
            self.events.append(message)

    def run(self, function, *arguments):
        call = f"({function})(...{json.dumps(arguments)})"
        result = self.call("Runtime.evaluate", {"expression": call, "returnByValue": True, "awaitPromise": True})
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"]["exception"]["description"])
        return result["result"].get("value")

    def screenshot(self):
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        shot = self.call("Page.captureScreenshot", {"format": "png", "captureBeyondViewport": True, "clip": clip})
        return base64.b64decode(shot["data"])

    def close(self):
        try:
            self.session = None
            self.call("Browser.close")
        except (RuntimeError, OSError):
            self.process.kill()
        self.process.wait(timeout=30)
        os.close(self.down)
        os.close(self.up)
        self.profile.cleanup()


def look(page, width, dark, expected, screenshots):
    """All findings at one width and colour scheme."""
    name = f"{width} px, {'dark' if dark else 'light'}"
    browser = Browser(width, dark)
    try:
        address = page.resolve().as_uri()
        browser.open(address)
        seen = browser.run(LOOK, expected)
        findings = [f"{name}: nothing visible matches '{selector}'"
                    for selector, count in seen["counts"].items() if count == 0]
        if seen["broken"]:
            findings.append(f"{name}: {seen['broken']} pictures are broken")
        if seen["unnamed"]:
            findings.append(f"{name}: {seen['unnamed']} pictures have no text alternative")
        if seen["wide"] > seen["window"]:
            findings.append(f"{name}: the page is {seen['wide']} pixels wide, the window {seen['window']}")
        for event in browser.events:
            method, what = event.get("method"), event.get("params", {})
            if method == "Runtime.exceptionThrown":
                findings.append(f"{name}: exception: {what['exceptionDetails'].get('text')}")
            elif method == "Runtime.consoleAPICalled" and what["type"] in ("error", "warning", "assert"):
                findings.append(f"{name}: console: {[argument.get('value') for argument in what['args']]}")
            elif method == "Log.entryAdded" and what["entry"]["level"] in ("error", "warning"):
                findings.append(f"{name}: console: {what['entry']['text']}")
            elif method == "Network.requestWillBeSent":
                url = what["request"]["url"]
                if url != address and not url.startswith("data:"):
                    findings.append(f"{name}: request to {url}")
        if screenshots:
            screenshots.mkdir(parents=True, exist_ok=True)
            shade = "dark" if dark else "light"
            (screenshots / f"{page.stem}-{width}-{shade}.png").write_bytes(browser.screenshot())
        return findings
    finally:
        browser.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page", type=pathlib.Path)
    parser.add_argument("--expect", nargs="*", default=[])
    parser.add_argument("--screenshots", type=pathlib.Path)
    arguments = parser.parse_args()
    if not shutil.which("chromium"):
        print("skipped: chromium is not installed")
        return 77
    findings = []
    for width in (1280, 390):
        for dark in (False, True):
            findings += look(arguments.page, width, dark, arguments.expect, arguments.screenshots)
    for finding in findings:
        print(f"{arguments.page}: {finding}")
    if not findings:
        print(f"{arguments.page}: fine at 1280 and 390 pixels, light and dark")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
