"""BasicSR, EDVR, KAIR and other image restoration: epoch, iteration and learning rate in brackets.

    23-05-05 22:19:44.740 - INFO: [epoch:  0, iter:   4,700, lr:(2.000e-04,)] l_pix: 4.4615e-02
    INFO: [0001..][epoch:  0, iter:     100, lr:(2.000e-04,)] [eta: 2:03:04, time (data): 0.5 (0.01)] l_pix: 1e-02
    <epoch:  3, lr:1.000e-04> loss: 2.420e-01              no iteration: the epoch is the step
    # Validation # PSNR: 3.0461e+01                        val/PSNR of the step before
             # psnr: 30.1234	Best: 30.2000 @ 5000 iter      val/psnr

Sources: basicsr/utils/logger.py (MessageLogger), basicsr/models/sr_model.py (_log_validation_metric_values).
"""

from __future__ import annotations

from tuimon import lazy_re as re
from tuimon.formats.console.families import NUMBER, Family, Line, LineReader
from tuimon.formats.console.shapes.rows import pairs_of

_HEAD = re.compile(
    r"[<\[(]epoch:\s{0,6}(\d{1,9}), ?(?:iters?:\s{0,8}(\d[\d,]{0,18}), ?)?"
    rf"lr:\(?({NUMBER})[^\]>]{{0,200}}[\]>)]"
    r"\s?(?:\[eta[^\]]{0,200}\]\s?)?",
    re.ASCII,
)
_WITHIN = 160
_VALIDATION = re.compile(rf"\s{{0,8}}#? ?(?:Validation )?# ([A-Za-z][\w-]{{0,40}}): ({NUMBER})(?=\s|$)", re.ASCII)


class BasicSRReader(LineReader):
    def read(self, line: Line) -> bool:
        head = _HEAD.search(line.text, 0, _WITHIN)
        if head is not None:
            step = int((head[2] or head[1]).replace(",", ""))
            row = [("lr", float(head[3])), *pairs_of(line.text[head.end() :])]
            if head[2]:
                row.append(("epoch", float(head[1])))
            return self.sink.add_row(row, step, line)
        match = _VALIDATION.match(line.message) if self.sink.step is not None else None
        return match is not None and self.sink.add_row([("val/" + match[1], float(match[2]))], None, line)


FAMILY = Family(
    "basicsr", ("epoch: ", "# Validation # ", "# psnr", "# ssim", "# niqe", "# lpips"), BasicSRReader, order=45
)
