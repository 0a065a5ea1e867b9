"""The server: who may ask, sessions with their edits, long work, and the addresses."""
