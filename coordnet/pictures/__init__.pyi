from .figures import save_comparison as save_comparison
from .samples import PixelSamples as PixelSamples
