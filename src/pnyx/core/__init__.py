"""What every room stands on: records, errors, files, progress, plugins."""
