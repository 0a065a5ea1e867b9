"""Tests beside other systems: browsers, clusters, other libraries, notebooks, the site (`make test-integrations`)."""
