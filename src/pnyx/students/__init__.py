"""Small judges trained on the labels of a teacher (DIRAS, section 3.3), and the packaged judge."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

del lazy_loader
