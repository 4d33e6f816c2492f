"""Makes demo/tuimon.svg, the README's picture: the demo's training and the real dashboard on it.

python demo/picture.py [OUTPUT.svg] [WIDTHxHEIGHT]
"""

from __future__ import annotations

import asyncio
import re
import sys
import tempfile
from pathlib import Path

from tuimon.config import Settings
from tuimon.monitor import ReaderProcess
from tuimon.tui.app import TuimonApp
from tuimon_demo.launch import start

FONTS = "ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace"
AT_STEP = 290


async def picture(output: Path, size: tuple[int, int]) -> None:
    """Trains at full speed, and takes the picture while the training runs."""
    with tempfile.TemporaryDirectory() as directory:
        training = start(Path(directory), steps=400, pace=0.0)
        monitor = ReaderProcess([directory])
        monitor.start()
        try:
            app = TuimonApp(monitor, Settings(theme="dark", symbols="braille"))
            async with app.run_test(size=size) as pilot:
                while app.run_shown is None or (app.run_shown.last_step or 0) < AT_STEP:
                    assert training.poll() is None, training.errors()
                    await pilot.pause(0.1)
                output.write_text(_self_contained(app.export_screenshot(title="tuimon demo")), "utf-8")
        finally:
            monitor.close()
            training.stop()


def _self_contained(svg: str) -> str:
    """Without the fonts that would be fetched from elsewhere: the reader's own monospaced one does."""
    svg = re.sub(r"@font-face\s*{[^}]*}", "", svg)
    return svg.replace("Fira Code, monospace", FONTS).replace("font-family: Fira Code", f"font-family: {FONTS}")


if __name__ == "__main__":
    target = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).with_name("tuimon.svg"))
    columns, rows = (sys.argv[2] if len(sys.argv) > 2 else "160x46").split("x")
    asyncio.run(picture(target, (int(columns), int(rows))))
