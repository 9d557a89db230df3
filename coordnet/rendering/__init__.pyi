from .grids import (
    image_blocks as image_blocks,
    render_image as render_image,
    render_points as render_points,
)
from .signal import render_signal as render_signal
