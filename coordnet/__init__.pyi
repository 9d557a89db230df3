from . import (
    encodings as encodings,
    errors as errors,
    image_files as image_files,
    metrics as metrics,
    networks as networks,
    pictures as pictures,
    plotting as plotting,
    rendering as rendering,
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
from .image_files import Image as Image, read_image as read_image, write_image as write_image
from .metrics import mse as mse, psnr as psnr, rmse as rmse, snr as snr, ssim as ssim
from .networks import MLP as MLP, Network as Network
from .rendering import render_image as render_image
from .saving import load as load, save as save
from .scenes import (
    Cameras as Cameras,
    OccupancyGrid as OccupancyGrid,
    PackedSamples as PackedSamples,
    Scene as Scene,
    read_scene as read_scene,
    render_rays as render_rays,
)
from .series import (
    HarmonicModel as HarmonicModel,
    PeriodSearch as PeriodSearch,
    Table as Table,
    choose_k as choose_k,
    find_period as find_period,
    fit_harmonics as fit_harmonics,
    read_table as read_table,
    write_table as write_table,
)
from .sounds import Audio as Audio, read_audio as read_audio, write_audio as write_audio
from .training import (
    FitConfig as FitConfig,
    FitResult as FitResult,
    NonFiniteLossError as NonFiniteLossError,
    fit as fit,
    fit_linear as fit_linear,
)
from .version import __version__ as __version__
