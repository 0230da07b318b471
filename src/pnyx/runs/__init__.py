"""From documents to pairs, from pairs to answers: one source, one resumable engine."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

del lazy_loader
