"""Throughput by other measures."""

from tuimon.panels._curves import CurvePanel

PANELS = (
    CurvePanel("throughput_per_gpu", "throughput per GPU", 91, ("throughput.tokens_per_gpu",)),
    CurvePanel("samples_per_second", "samples per second", 92, ("throughput.samples",)),
    CurvePanel("mfu", "MFU", 93, ("throughput.mfu",)),
    CurvePanel("wait_share", "wait share", 132, ("time.wait_ratio",)),
    CurvePanel("time_per_token", "time per token", 134, ("time.per_token",)),
    CurvePanel("gpu_utilisation", "GPU utilisation", 136, ("gpu.util",)),
)
