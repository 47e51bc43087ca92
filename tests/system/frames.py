# SPDX-License-Identifier: MIT
"""Data frames of the Python module; run by test_python.py."""

import pytest

import juggle as module
from test_python import TRACES, WHOLE


def test_frames_of_a_trace():
    for path in TRACES:
        trace = module.read_trace(path)
        for name in module._FRAMES:
            made, rows = trace.frame(name), getattr(trace, name)
            if name not in module._BY_SUBDOMAIN:
                assert len(made) == len(rows)
            for key, value in (rows[0] if rows else {}).items():
                assert isinstance(value, list) or made[key][0] == value, key
        assert not trace.frame("samples")["unseen"].any() or any("unseen" in sample for sample in trace.samples)
    with pytest.raises(ValueError, match="'thread', but: threads"):
        trace.frame("thread")


def test_frames_by_subdomain(tmp_path):
    (tmp_path / "run.trace").write_text(WHOLE + "updates 9 7 4 5\n")
    made = module.read_trace(tmp_path / "run.trace").frame("updates")
    assert made.values.tolist() == [[5, 7, 0, 3], [5, 7, 1, -1], [9, 7, 0, 4], [9, 7, 1, 5]]
    assert list(made.columns) == ["now_ns", "pid", "subdomain", "updates"]


def test_frames_of_samples():
    samples = [{"unix_time_ms": time, "spread": 3, "thread": [{"tid": 1, "share": 0.5}, {"tid": 2, "share": time}]}
               for time in (1, 2)]
    assert module.frame(samples).to_dict("list") == {"unix_time_ms": [1, 2], "spread": [3, 3]}
    assert module.frame(samples, "thread").to_dict("list") == {
        "unix_time_ms": [1, 1, 2, 2], "tid": [1, 2, 1, 2], "share": [0.5, 1, 0.5, 2]}
    report = {"threads": 1, "thread": [{"tid": 1}]}
    assert module.frame(report, "thread").to_dict("list") == {"tid": [1]}
    with pytest.raises(KeyError, match="threat"):
        module.frame(samples, "threat")
