"""evaluations.npz of Stable-Baselines3: points, growth, and archives that are refused."""

from __future__ import annotations

import io
import os
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest

from tuimon.errors import FormatError, Unfinished
from tuimon.formats.evaluations import FORMAT, EvaluationsDocument
from tuimon.model.points import Points, Replaced
from tuimon.monitor.local import open_run


def archive(count: int, **more: np.ndarray) -> bytes:
    file = io.BytesIO()
    steps = np.arange(1, count + 1) * 1000
    np.savez(file, timesteps=steps, results=steps[:, None] + np.array([[0.0, 1.0]]), **more)
    return file.getvalue()


def test_mean_of_the_episodes_of_each_evaluation(tmp_path: Path) -> None:
    (tmp_path / "evaluations.npz").write_bytes(archive(5, ep_lengths=np.full((5, 2), 7)))
    [run] = open_run(tmp_path).runs
    assert run.metrics == ("eval/mean_reward", "eval/mean_ep_length")
    assert run.curve("eval/mean_reward").steps.tolist() == [1000, 2000, 3000, 4000, 5000]
    assert run.curve("eval/mean_reward").values.tolist() == [1000.5, 2000.5, 3000.5, 4000.5, 5000.5]
    assert run.curve("eval/mean_ep_length").values.tolist() == [7.0] * 5


def test_only_new_evaluations_are_returned() -> None:
    decoder = EvaluationsDocument()
    decoder.load(archive(3))
    [points] = decoder.load(archive(4))
    assert isinstance(points, Points)
    assert points.steps.tolist() == [4000]
    assert decoder.load(archive(4)) == []
    replaced, _ = decoder.load(archive(2))
    assert replaced == Replaced()


class Evil:
    def __reduce__(self) -> object:
        return os.mkdir, ("evil",)


def test_pickles_are_not_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pickle.dumps(Evil())
    file = io.BytesIO()
    np.savez(file, timesteps=np.array([1]), results=np.array([Evil()], dtype=object), allow_pickle=True)
    with pytest.raises(FormatError):
        EvaluationsDocument().load(file.getvalue())
    assert list(tmp_path.iterdir()) == []


def test_archives_that_claim_too_much() -> None:
    huge = io.BytesIO()
    np.lib.format.write_array_header_1_0(huge, {"descr": "<f8", "fortran_order": False, "shape": (1 << 40,)})
    bombs = {"small.npy": huge.getvalue(), "zeros.npy": bytes(80 << 20)}
    for content in bombs.values():
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as out:
            out.writestr("timesteps.npy", content)
        with pytest.raises(FormatError):
            EvaluationsDocument().load(file.getvalue())
    with pytest.raises(Unfinished):
        EvaluationsDocument().load(archive(3)[:200])
    assert FORMAT.max_size == 64 << 20
