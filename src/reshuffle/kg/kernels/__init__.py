"""The compiled inner loops; numba is slow to import, so they are imported only where much data is at hand."""
