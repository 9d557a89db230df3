from .figures import save_comparison as save_comparison
from .options import PictureOptions as PictureOptions, PictureRender as PictureRender
from .samples import PixelSamples as PixelSamples
from .task import PictureTask as PictureTask
