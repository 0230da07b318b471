"""Trainers of students with PyTorch: late interaction, combined students, and LoRA."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

del lazy_loader
