"""Logs as strangers write them, with what a reader should get from them."""
