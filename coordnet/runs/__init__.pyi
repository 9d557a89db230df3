from .evaluate import evaluate_run as evaluate_run
from .fit import fit_file as fit_file
from .predict import predict_run as predict_run
from .render import export_run as export_run, render_run as render_run
from .run import Run as Run
