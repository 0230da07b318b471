"""The web application: pages to search and argue, inspect and label in, and the HTTP API.

It needs the extra `serve`; what renders a page (`rendering`) does not.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

del lazy_loader
