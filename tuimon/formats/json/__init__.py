"""JSON logs: files of one JSON value per line, and documents that are rewritten whole.

lines, marked_lines, clearml      formats of one value per line
trainer_state, roll_worker_state,
training_log, rows                formats of documents; `rows` is any other document with a list of rows
_document                         RowsDocument, the decoder of all documents
_metadata                         decoder of a tracker's document about the machine and the program
_shapes                           shapes of documents as sections of rows
_whole_values                     what is whole in a document that is cut, damaged or too large to be parsed at once
"""
