"""Cameras: poses, lenses, rays, bounds of what they see, paths."""
