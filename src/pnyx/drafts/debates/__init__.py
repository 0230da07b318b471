"""A benchmark of arguments and their evidence, made of debate pages (ConQRet, section 4)."""
