"""Limits that are checked before a parser sees a file, and rows that hold no triple."""
