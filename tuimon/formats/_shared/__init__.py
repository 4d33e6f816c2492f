"""Helpers that several packages of formats use.

Text: `lines` (line splitting, JSON lines), `json` (tolerant JSON), `cells` (table cells), `rows`, `row_reader` and
`row_steps` (rows of metrics to points), `overall_steps` (steps that begin again with each epoch), `console_lines`.
Settings: `settings` (config documents), `safe_yaml`, `settings_text`. Binary: `protobuf`, `log_blocks`, `crc32c`.
SQLite: `database`.
"""
