"""A snapshot as something that lasts: text, CSV, JSON lines. One file an export; none reads a log or knows a screen."""
