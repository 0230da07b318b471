"""Questions with opposing perspectives, drafted and filtered: a benchmark in the making (BERDS)."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

del lazy_loader
