"""The web server: access control, sessions with edits, background jobs, and routes."""
