"""MLflow: the SQLite database (the default since 3.7) and the file store.

Format modules: `database`, `file_store` (metrics, parameters and description of a run). There are no helpers.
"""
