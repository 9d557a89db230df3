"""Readers of posed scenes: transforms.json, COLMAP, LLFF."""
