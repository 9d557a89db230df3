"""Least squares in float64: the solution, and what its statistics need."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

__all__ = ["LeastSquares", "least_squares"]


@dataclass(frozen=True)
class LeastSquares:
    """The solution of min Σ_n w_n (A c - y)_n², for D columns of y at once.

    Attributes:
        solution: the coefficients c, ``(P, D)``; the shortest where the columns of A are linearly
            dependent.
        inverse: the (pseudo-)inverse of AᵀWA, ``(P, P)``: times the residual variance it is the
            covariance of c.
        rank: the number of linearly independent columns.
        residual: Σ_n w_n (A c - y)_n², ``(D,)``.
    """

    solution: Tensor
    inverse: Tensor
    rank: int
    residual: Tensor


def least_squares(design: Tensor, target: Tensor, weights: Tensor | None = None) -> LeastSquares:
    """Solve a linear least-squares problem by QR and the singular values of R, in float64.

    Singular values below eps · max(N, P) times the largest count as 0, as in LAPACK's gelsd.

    Args:
        design: A, ``(N, P)``.
        target: y, ``(N, D)``.
        weights: w, ``(N,)``, at least 0; None for 1.

    Returns:
        float64 tensors on the CPU.
    """
    matrix, values = (t.detach().cpu().to(torch.float64) for t in (design, target))
    if weights is not None:
        root = weights.detach().cpu().to(torch.float64).sqrt()[:, None]
        matrix, values = matrix * root, values * root
    q, r = torch.linalg.qr(matrix)
    u, size, vh = torch.linalg.svd(r, full_matrices=False)
    independent = size > torch.finfo(torch.float64).eps * max(matrix.shape) * size.amax()
    inverse = torch.where(independent, 1 / torch.where(independent, size, 1.0), 0.0)
    solution = vh.T @ (inverse[:, None] * (u.T @ (q.T @ values)))
    return LeastSquares(
        solution=solution,
        inverse=(vh.T * inverse.square()) @ vh,
        rank=int(independent.sum()),
        residual=(values - matrix @ solution).square().sum(0),
    )
