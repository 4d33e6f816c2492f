"""Array computations on points, one file per topic. NaN and infinite values are excluded from every statistic.

statistics.py       mean, deviation, median, quantiles, robust spread, best value
trend.py            direction and slope of a curve, and their significance
shift.py            newest against earlier points, correlation of two curves
smoothing.py        exponential moving average
level.py            final level of a curve, its standard error, and differences of levels
comparison_rows.py  a metric of several runs as rows of runs or groups of seeds
first_line.py       what the first two of these rows show
setting_effects.py  paired differences between two values of a setting
windows.py          usual level and noise before each point
rules.py            scores of points by which incidents are found
level_rules.py      scores of the level compared with an earlier one
incidents.py        incidents from scores, computed incrementally
cadence.py          time per step, pauses
progress.py         progress of a run: state, pace, ETA
progress_state.py   the state of a run and its evidence
progress_facts.py   the facts that these are computed from
tolerated_silence.py  time without a point that is normal
progress_inputs.py  gathers the facts about the progress of a run
configured_length.py  steps and epochs that the settings of a run ask for
training_steps.py   training steps, if a tracker counts rows or a run counts updates
concepts.py         metrics of a run that belong to a concept
comparing.py        runs side by side: settings, metrics, seeds
run_filter.py       filters for runs, as typed by the user
run_states.py       sign and words for the state of a run
aligned_steps.py    curves of sources that count steps differently
run_cache.py        results cached per run
words.py            durations and times as text
"""
