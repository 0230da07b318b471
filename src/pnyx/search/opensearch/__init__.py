"""An index in a cluster of OpenSearch: loaded, opened and searched as an index folder is."""
