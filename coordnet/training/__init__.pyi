from .checkpoint import Checkpoint as Checkpoint
from .config import FitConfig as FitConfig
from .fitting import fit as fit
from .linear import fit_linear as fit_linear
from .minimizing import minimize as minimize
from .objective import Objective as Objective, measure as measure
from .progress import Notice as Notice
from .result import (
    FitResult as FitResult,
    HistoryPoint as HistoryPoint,
    NonFiniteLossError as NonFiniteLossError,
)
from .runtime import choose_device as choose_device, choose_precision as choose_precision
from .samples import Samples as Samples, TensorSamples as TensorSamples
from .solving import LeastSquares as LeastSquares, least_squares as least_squares
