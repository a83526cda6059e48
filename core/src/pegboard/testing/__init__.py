"""For tool authors: run a tool through the real pipeline in a test. The fixtures come with the pytest plugin."""
