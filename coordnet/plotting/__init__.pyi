from .curves import save_curve as save_curve
from .figures import (
    COLORS as COLORS,
    new_figure as new_figure,
    save_figure as save_figure,
    tidy as tidy,
)
