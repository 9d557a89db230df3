from . import (
    encodings as encodings,
    errors as errors,
    image_files as image_files,
    kinds as kinds,
    metrics as metrics,
    networks as networks,
    operators as operators,
    pictures as pictures,
    plotting as plotting,
    rendering as rendering,
    runs as runs,
    scenes as scenes,
    series as series,
    sounds as sounds,
    training as training,
)
from .encodings import (
    Concat as Concat,
    Damped as Damped,
    DenseGrid as DenseGrid,
    Encoding as Encoding,
    FourierFeatures as FourierFeatures,
    HashGrid as HashGrid,
    Identity as Identity,
    Normalized as Normalized,
    Polynomial as Polynomial,
    SinusoidalPositionalEncoding as SinusoidalPositionalEncoding,
    SphericalHarmonics as SphericalHarmonics,
)
from .errors import InputError as InputError
from .field import Field as Field
from .grids import pixel_centers as pixel_centers
from .image_files import read_image as read_image, write_image as write_image
from .metrics import mse as mse, psnr as psnr, rmse as rmse, snr as snr, ssim as ssim
from .networks import MLP as MLP, Network as Network
from .rendering import render_image as render_image
from .saving import load as load, save as save
from .training import (
    Checkpoint as Checkpoint,
    FitConfig as FitConfig,
    NonFiniteLossError as NonFiniteLossError,
    Objective as Objective,
    fit as fit,
    fit_linear as fit_linear,
    minimize as minimize,
)
from .version import __version__ as __version__
