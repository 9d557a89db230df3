"""Writer of meshes as PLY files."""

from __future__ import annotations

import os

import numpy as np

from ...errors import refuse
from ...files import atomic
from .mesh import Mesh

__all__ = ["write_ply"]

_HEADER = """\
ply
format binary_little_endian 1.0
comment a scene of coordnet
element vertex {vertices}
property float x
property float y
property float z
property float nx
property float ny
property float nz
property uchar red
property uchar green
property uchar blue
element face {faces}
property list uchar int vertex_indices
end_header
"""
_VERTEX = np.dtype([("position", "<f4", 3), ("normal", "<f4", 3), ("color", "u1", 3)])
_FACE = np.dtype([("number", "u1"), ("corners", "<i4", 3)])
_BLOCK = 1 << 18


def write_ply(path: str | os.PathLike[str], mesh: Mesh) -> None:
    """Write a mesh as a binary PLY file (Turk, 1994); atomically.

    After a header in ASCII that names them come the vertices, 27 bytes each, and the faces, 13
    bytes each, all numbers in little-endian order: x, y, z, nx, ny, nz as float32 and red, green,
    blue as bytes (color · 255, rounded); the byte 3 and three numbers of vertices as int32.

    Args:
        path: the file, which is replaced where it exists.
        mesh: what `extract_mesh` returned.

    Raises:
        InputError: arrays that make no mesh.
        OSError: the file cannot be written.
    """
    vertices, faces = np.asarray(mesh.vertices), np.asarray(mesh.faces)
    shapes = [np.shape(values) for values in (vertices, mesh.normals, mesh.colors)]
    if shapes != [(len(vertices), 3)] * 3 or faces.ndim != 2 or faces.shape[1] != 3:
        refuse(
            "a mesh must have vertices, normals and colors of one shape (V, 3), and faces (F, 3)",
            f"shapes {shapes[0]}, {shapes[1]}, {shapes[2]} and {faces.shape}",
        )
    if len(faces) and not (faces.min() >= 0 and faces.max() < len(vertices) < 1 << 31):
        got = f"numbers {faces.min()} to {faces.max()} of {len(vertices)} vertices"
        refuse("faces must name vertices that are there", got)
    header = _HEADER.format(vertices=len(vertices), faces=len(faces))
    with atomic(path) as file:
        file.write(header.encode("ascii"))
        for start in range(0, len(vertices), _BLOCK):
            part = slice(start, start + _BLOCK)
            rows = np.empty(len(vertices[part]), _VERTEX)
            rows["position"], rows["normal"] = vertices[part], mesh.normals[part]
            rows["color"] = np.rint(np.clip(mesh.colors[part], 0, 1) * 255)
            file.write(rows.tobytes())
        for start in range(0, len(faces), _BLOCK):
            part = faces[start : start + _BLOCK]
            rows = np.empty(len(part), _FACE)
            rows["number"], rows["corners"] = 3, part
            file.write(rows.tobytes())
