"""Evidence beside the constraints: one file per kind, chosen in `registry`."""
