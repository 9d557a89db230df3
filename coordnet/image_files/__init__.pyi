from .image import Image as Image
from .reading import is_lossy as is_lossy, read_image as read_image
from .writing import check_output as check_output, write_image as write_image
