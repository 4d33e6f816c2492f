"""Separated tables (CSV, TSV): a header, then one row for each log call.

csv, dvclive, headerless, long_form, sb3_monitor  the formats
_decoder      TableDecoder, the stream decoder of all
_header       separator, and which columns hold steps, times and metrics
_rows         rows below one header -> points
"""
