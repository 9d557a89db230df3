"""coordnet: coordinate networks in pure PyTorch."""

__version__ = "0.1.0"
