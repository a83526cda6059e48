"""The loop between a model and the board: requests, streams, turns, retries, the transcript."""
