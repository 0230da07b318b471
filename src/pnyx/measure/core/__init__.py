"""What all measures share: values, bootstrap, intervals, tests, ground truth."""
