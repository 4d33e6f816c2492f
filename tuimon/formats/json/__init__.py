"""JSON logs: files of one JSON value per line, and documents that are rewritten whole.

lines, clearml, beast_logger      formats of one value per line
trainer_state, roll_worker_state,
training_log, rows                formats of documents; `rows` is any other document with a list of rows
_document                         RowsDocument, the decoder of all documents
_metadata                         decoder of a tracker's document about the machine and the program
_parts                            documents that are too large to be parsed as a whole
_shapes, _salvage                 shapes of documents as sections of rows; the whole part of a cut document
"""
