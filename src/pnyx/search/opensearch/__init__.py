"""An index in an OpenSearch cluster."""
