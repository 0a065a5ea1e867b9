"""What stands in files beside a rule model: unfinished work, and the remarks of people."""
