from .psnr_snr import (
    mse as mse,
    psnr as psnr,
    psnr_from_mse as psnr_from_mse,
    rmse as rmse,
    snr as snr,
    snr_from_squares as snr_from_squares,
)
from .ssim_index import ssim as ssim
