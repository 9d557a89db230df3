from .figures import save_signal as save_signal
from .folded_figures import (
    save_folded as save_folded,
    save_k_curve as save_k_curve,
    save_periodogram as save_periodogram,
)
from .functions import (
    derivative as derivative,
    evaluate as evaluate,
    fold_phase as fold_phase,
    residuals as residuals,
)
from .harmonics import HarmonicModel as HarmonicModel, fit_harmonics as fit_harmonics
from .holdout import ChoiceOfK as ChoiceOfK, choose_k as choose_k
from .options import SeriesOptions as SeriesOptions, SeriesRender as SeriesRender
from .periods.candidates import PeriodCandidate as PeriodCandidate, PeriodSearch as PeriodSearch
from .periods.periodogram import Periodogram as Periodogram, lomb_scargle as lomb_scargle
from .periods.search import find_period as find_period
from .prediction import (
    PredictedTable as PredictedTable,
    predict_table as predict_table,
    predict_times as predict_times,
)
from .reading.tables import Table as Table, read_table as read_table, write_table as write_table
from .reading.time_axis import TimeAxis as TimeAxis
from .reading.units import UNITS as UNITS, in_unit as in_unit
from .regressor import PeriodicRegressor as PeriodicRegressor
from .sampling import (
    describe_periods as describe_periods,
    grid_step as grid_step,
    nyquist_harmonic as nyquist_harmonic,
    nyquist_warning as nyquist_warning,
)
from .spectrum import Spectrum as Spectrum, harmonic_spectrum as harmonic_spectrum
from .task import SeriesTask as SeriesTask
