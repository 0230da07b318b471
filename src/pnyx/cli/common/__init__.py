"""What commands share: options, progress, plans."""
