"""TensorBoard: the formats of the files below a TensorBoard log directory.

Format module: `event_file`. Helpers, from bytes to points: `_records` (TFRecord framing), `_event_message`
(protobuf messages), `_event_content` (scalars and facts of an event), `_known_events` (many events that differ only in
step, time and value), `_event_reader` (all events in their order), `_large_event` (images and similar payloads).
"""
