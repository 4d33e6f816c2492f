"""What points say: pure array work, one file a topic. NaN and infinities count in no figure, and are never hidden.

statistics.py       mean, deviation, median, robust spread, best value
trend.py            is it rising, how fast, and is that more than noise
shift.py            has it moved since, and with what other metric
smoothing.py        the curve under the noise
cadence.py          how long a step takes
progress.py         where a run stands, when it ends, whether it lives
progress_inputs.py  what a run of the store knows about that
comparing.py        runs side by side: settings that differ, metrics that are the same, seeds
run_filter.py       which runs a typed filter means
concepts.py         which metrics of a run stand for a concept
windows.py          what was usual before a point
rules.py            what a curve can be held to
incidents.py        raised once, cleared once, and only what is new looked at
words.py            durations as a person says them
"""
