"""How PyTorch deals its operations out to CPU threads."""

__all__ = ["SERIAL"]

# PyTorch runs an operation on fewer than 32,768 elements in one piece, on the calling thread
SERIAL = 32_767
