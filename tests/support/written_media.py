"""Event files with every kind of value that is not a scalar, written with TensorBoard's protos."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from tensorboard.compat.proto.summary_pb2 import HistogramProto, Summary
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData
from tensorboard.util import tensor_util

from support.event_points import event, file_of, image, scalar, tensor, text


def histogram(tag: str, values: Any, plain: bool = True) -> Any:
    """A histogram of 10 equal buckets, as an old summary or as a tensor of TensorBoard 2."""
    counts, edges = np.histogram(values, 10)
    if plain:
        proto = HistogramProto(min=edges[0], max=edges[-1], num=len(values), bucket_limit=edges[1:], bucket=counts)
        return Summary.Value(tag=tag, histo=proto)
    rows = np.stack([edges[:-1], edges[1:], counts], 1)
    return tensor(tag, tensor_util.make_tensor_proto(rows), "histograms")


def curve(tag: str) -> Any:
    rows = np.array([[3, 2], [1, 0], [4, 5], [0, 1], [0.75, 1.0], [1.0, 0.5]], np.float32)
    return tensor(tag, tensor_util.make_tensor_proto(rows), "pr_curves")


def hparams() -> Any:
    data = HParamsPluginData()
    data.session_start_info.hparams["lr"].number_value = 0.1
    data.session_start_info.hparams["api_key"].string_value = "abc123secret"
    return tensor("_hparams_/session_start_info", TensorProto(), "hparams", data.SerializeToString())


def write_run(folder: Path) -> Path:
    """Write an event file with every kind in steps 0 to 4, amid scalars."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    messages = [event(0, hparams())]
    clip = Summary.Image(height=1, width=1, encoded_image_string=b"GIF89a")
    for step in range(5):
        messages += [
            event(step, scalar("loss", 1 / (step + 1))),
            event(step, histogram("weights", rng.normal(step, 1, 500))),
            event(step, histogram("grads", rng.normal(0, 1, 300), plain=False)),
            event(step, image("img", 100 + step), text("note", f"it is step {step}"), curve("pr")),
            event(step, Summary.Value(tag="clip", image=clip)),
            event(step, Summary.Value(tag="sound", audio=Summary.Audio(sample_rate=100, length_frames=250))),
        ]
    (folder / "events.out.tfevents.1.host.1.0").write_bytes(file_of(*messages))
    return folder
