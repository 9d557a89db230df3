"""Radiance fields: density and color in space, and the models made of them."""
