"""TensorBoard: the formats of the files below a TensorBoard log directory.

Format module: `event_file`. Helpers, from bytes to points: `_records` (TFRecord framing), `_event_message` and
`_tensor_scalar` (protobuf messages), `_event_content` (scalars and facts of an event), `_event_walker` and
`_event_metrics` (record by record), `_row_template` and `_template_pool` (many equal rows at once), `_large_event`
(images and similar payloads).
"""
