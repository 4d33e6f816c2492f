"""Array computations on points, one file per topic. NaN and infinite values are excluded from every statistic.

statistics.py         mean, deviation, median, quantiles, robust spread, best value
level.py              final level of a curve, its standard error, and differences of levels
change.py             change of the level over the last tenth, or over the whole curve
smoothing.py          exponential moving average
correlation.py        pairs of two metrics and their correlation
comparing.py          runs side by side: settings, metrics, seeds
comparison_axis.py    equal steps, tokens or durations up to which runs are compared
comparison_rows.py    a metric of several runs as rows of runs or groups of seeds, and the first line about them
setting_effects.py    paired differences between two values of a setting
windows.py            usual level and noise before each point
alert_words.py        the sentence of an alert
pace.py               time per step, pauses
progress.py           progress of a run: state, pace, ETA
progress_inputs.py    gathers the facts about the progress of a run
configured_length.py  steps and epochs that the settings of a run ask for
training_steps.py     training steps, if a tracker counts rows
aligned_steps.py      curves of sources that count steps differently
log_files.py          who writes the logs, whether they are copies, why they give no point
attempts.py           attempts of a training and the work lost between them
hidden_values.py      values that another source of a metric hides
concepts.py           metrics of a run that belong to a concept
metric_filter.py      patterns for names of metrics
run_filter.py         filters for runs, as typed by the user
run_states.py         sign and words for the state of a run
run_cache.py          results cached per run
words.py              durations and times as text
"""
