"""JSON logs: files of one JSON value per line, and documents that are rewritten whole.

lines, marked_lines               formats of one value per line
metadata                          documents of trackers about the machine and the program of a run
log_history, rows                 formats of documents; `rows` is any document with rows or columns of metrics
_document                         RowsDocument, the decoder of all documents
_shapes                           shapes of documents as sections of rows
_whole_values                     what is whole in a document that is cut, damaged or too large to be parsed at once
"""
