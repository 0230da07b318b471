"""Files of evidence, questions, runs, judgements and responses: a reader and a writer for each.

`FORMATS` lists them; docs/formats.md shows each with an example.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

del lazy_loader
