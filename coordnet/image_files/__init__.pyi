from .image import Image as Image
from .reading import read_image as read_image
from .writing import check_output as check_output, is_lossy as is_lossy, write_image as write_image
