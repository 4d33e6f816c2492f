"""Charts of curves: display options, traces, axes, marks and captions of a ChartView."""
