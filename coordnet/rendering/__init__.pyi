from .grids import render_image as render_image, render_points as render_points
from .signal import render_signal as render_signal
