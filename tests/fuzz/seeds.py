"""Sound files of every kind, small, from which the hostile ones are made."""

import io
import json
import math
import struct

import numpy as np
import soundfile
import tifffile
import torch
from PIL import Image

from coordnet import Field, FitConfig, HashGrid, encodings, fit, networks, save
from coordnet.image_files.png16 import encode
from coordnet.saving import describe
from coordnet.scenes import OccupancyModel, RadianceField
from coordnet.training.checkpoint import Checkpoint


def pictures(folder=None):
    """Return {name: bytes} of pictures of all kinds."""
    noise = np.random.default_rng(0)
    gray = noise.integers(0, 256, (9, 14), dtype=np.uint8)
    rgb = noise.integers(0, 256, (9, 14, 3), dtype=np.uint8)
    deep = noise.integers(0, 65536, (9, 14, 3), dtype=np.uint16)
    picture = Image.fromarray(rgb)
    palette = picture.quantize(7)
    exif = Image.Exif()
    exif[274] = 6
    frames = [Image.fromarray(np.roll(rgb, i, 0)).quantize(16) for i in range(3)]
    found = {
        "bit.png": _pil(Image.fromarray(gray > 99), "PNG"),
        "gray.png": _pil(Image.fromarray(gray), "PNG"),
        "rgb.png": _pil(picture, "PNG"),
        "alpha.png": _pil(picture.convert("RGBA"), "PNG"),
        "palette.png": _pil(palette, "PNG", transparency=bytes([0, 128])),
        "color.png": _pil(picture, "PNG", transparency=(1, 2, 3)),
        "animated.png": _pil(picture, "PNG", save_all=True, append_images=[picture.rotate(180)]),
        "gray16.png": _pil(Image.fromarray(deep[..., 0]), "PNG"),
        "rgb.jpg": _pil(picture, "JPEG", exif=exif),
        "cmyk.jpg": _pil(picture.convert("CMYK"), "JPEG"),
        "progressive.jpg": _pil(picture, "JPEG", progressive=True),
        "rgb.tif": _pil(picture, "TIFF", compression="tiff_lzw"),
        "pages.tif": _pil(picture, "TIFF", save_all=True, append_images=[picture]),
        "float.tif": _pil(Image.fromarray(gray.astype(np.float32) / 255), "TIFF"),
        "three.gif": _pil(frames[0], "GIF", save_all=True, append_images=frames[1:]),
        "rgb.webp": _pil(picture, "WEBP", lossless=True),
        "rgb.bmp": _pil(picture, "BMP"),
        "rgb.ppm": _pil(picture, "PPM"),
        "rgb.tga": _pil(picture, "TGA"),
        "rgb.qoi": b"qoif\0\0\0\3\0\0\0\2\3\0" + b"\xfe\1\2\3" * 6 + b"\0" * 7 + b"\1",
        "deep.png": encode(deep),
        "deepalpha.png": encode(np.dstack([deep, deep[..., 0]])),
    }
    for name, options in (("deep.tif", {}), ("bigendian.tif", {"byteorder": ">"})):
        file = io.BytesIO()
        tifffile.imwrite(file, deep, photometric="rgb", **options)
        found[name] = file.getvalue()
    return found


def _pil(picture, kind, **options):
    file = io.BytesIO()
    picture.save(file, kind, **options)
    return file.getvalue()


def tables(folder=None):
    """Return {name: bytes} of tables."""
    rows = [f"{i / 4},{i % 7},{1 + i % 3}" for i in range(40)]
    days = [f"2010-01-{1 + i:02d}T0{i % 10}:30:00+01:00,{i % 5}.5" for i in range(28)]
    split = [f"2010-01-{1 + i:02d}\t0{i % 10}:00\t{i * i}" for i in range(28)]
    return {
        "plain.csv": "\n".join(["t,y,w", *rows]).encode(),
        "bare.csv": "\n".join(rows).encode(),
        "decimal.csv": "\n".join(f"{i},5;{i % 3},25" for i in range(30)).encode(),
        "dates.csv": "\n".join(["time,load", *days]).encode(),
        "clock.tsv": "\n".join(["date\ttime\tvalue", *split]).encode(),
    }


def sounds(folder=None):
    """Return {name: bytes} of sounds."""
    wave = 0.5 * np.sin(np.arange(300) / 9)[:, None] * [1, 0.3]
    kinds = [
        *(("WAV", s) for s in ("PCM_U8", "PCM_16", "PCM_24", "FLOAT", "DOUBLE", "ULAW")),
        *(("WAVEX", "PCM_16"), ("FLAC", "PCM_16"), ("FLAC", "PCM_24"), ("AIFF", "PCM_16")),
        *(("OGG", "VORBIS"), ("RF64", "PCM_16")),
    ]
    found = {}
    for kind, subtype in kinds:
        file = io.BytesIO()
        soundfile.write(file, wave, 8000, format=kind, subtype=subtype)
        ending = {"WAVEX": "wav", "RF64": "wav"}.get(kind, kind.lower())
        found[f"{kind}_{subtype}.{ending}"] = file.getvalue()
    return found


def models(folder):
    """Return {name: bytes} of saved models, with the settings of runs."""
    picture = {"height": 6, "width": 8, "channels": 3, "mode": "RGB", "bit_depth": 8}
    time = {"unit": "h", "origin": "2010-01-01", "aware": False}
    table = {"x_name": "t", "y_names": ["y"], "range": [0.0, 9.0], "samples": 20, "periods": [2.0]}
    table |= {"time": time, "trend": False, "weights": None}
    sound = {"rate": 800, "frames": 40, "channels": 1, "seconds": 0.05}
    sound |= {"format": "WAV", "subtype": "PCM_16"}
    grid = HashGrid(2, 2, 2, 4, 2, 4)
    harmonic = encodings.FourierFeatures(1, k=3, period=2.0)
    several = encodings.Concat([harmonic, encodings.Polynomial(1, 2)])
    random = encodings.FourierFeatures.gaussian(1, k=4, sigma=2.0, seed=0)
    lens = {"width": 6, "height": 4, "focal": [8.0, 8.0], "distortion": None}
    lens["principal_point"] = [3.0, 2.0]
    scene = {"views": 3, "lens": lens, "box": [[-1.0] * 3, [1.0] * 3], "background": [1.0] * 3}
    scene |= {"downscale": 1, "poses": [[*a, *b, *c] for a, b, c, _ in map(_turn, range(3))]}
    built = {
        "image": (_field(grid, 3), picture),
        "table": (_field(several, 1), table),
        "audio": (_field(random, 1), sound),
        "scene": (scene_model(), scene),
    }
    found = {}
    for kind, (model, about) in built.items():
        save(model, folder / "model", {"task": kind, "input": about})
        found[f"{kind}.safetensors"] = (folder / "model").read_bytes()
    return found


def _field(encoding, out_dim):
    field = Field(encoding, networks.MLP(encoding.out_dim, out_dim, 6, 1, seed=0))
    field.set_domain([0.0] * encoding.in_dim, [1.0] * encoding.in_dim)
    return field


def scene_model():
    """Return a small scene model."""
    positions = HashGrid(3, 2, 2, 4, 2, 4)
    directions = encodings.SphericalHarmonics(3, 2)
    density = networks.MLP(positions.out_dim, 4, 8, 1, seed=0)
    color = networks.MLP(3 + directions.out_dim, 3, 8, 1, seed=0)
    field = RadianceField(
        positions.on_domain(-torch.ones(3), torch.ones(3)), directions, density, color
    )
    return OccupancyModel(field, [-1.0] * 3, [1.0] * 3, resolution=8)


def checkpointed():
    """Return a field and samples that a checkpoint is made of, the same at every call."""
    x = torch.linspace(0, 1, 24)[:, None]
    return _field(encodings.FourierFeatures(1, k=2, period=1.0), 1), x, torch.sin(6 * x)


def checkpoint_config(steps):
    """Return the settings of that fit."""
    return FitConfig(steps=steps, batch_size=24, device="cpu")


def checkpoints(folder):
    """Return {name: bytes} of a checkpoint."""
    field, x, y = checkpointed()
    about = {
        "path": str(folder / "in.csv"),
        "input": {"bytes": 1, "sha256": "0"},
        "model": describe(field),
        "settings": {"task": "table", "input": {}},
        "options": {"steps": 5},
    }
    path = folder / "checkpoint.safetensors"
    fit(field, x, y, checkpoint_config(4), checkpoint=Checkpoint(path, 2, about=about))
    return {"checkpoint.safetensors": path.read_bytes()}


def reports(folder=None):
    """Return {name: bytes} of a report."""
    report = {
        "options": {"k": 3, "steps": 5, "periods": [1.0, "24h"], "trend": True, "seconds": 3.0},
        "config": {"optimizer": "adam", "batch_size": 5, "learning_rate": 1e-3},
        **{"stop_reason": "steps", "steps": 5, "device": "cpu", "threads": 1},
        "versions": {"coordnet": "0", "torch": "2"},
    }
    return {"report.json": json.dumps(report).encode()}


def _turn(i):
    c, s = math.cos(i), math.sin(i)
    return [[c, 0, s, 3 * s], [0, 1, 0, 0.1 * i], [-s, 0, c, 3 * c], [0, 0, 0, 1]]


def transforms():
    """Return {name: bytes} of transforms.json of several styles, for pictures of 14 x 9."""
    frames = [{"file_path": f"images/{i}.png", "transform_matrix": _turn(i)} for i in range(4)]
    nerf = {"camera_angle_x": 0.7, "frames": frames}
    ngp = {"fl_x": 20.0, "fl_y": 20.0, "cx": 7.0, "cy": 4.5, "w": 14, "h": 9, "k1": 0.01}
    ngp |= {"aabb_scale": 4, "scale": 0.33, "offset": [0.5, 0.5, 0.5], "camera_model": "OPENCV"}
    split = {"train_filenames": ["images/0.png"], "test_filenames": ["images/1.png"]}
    return {
        "blender.json": json.dumps(nerf).encode(),
        "ngp.json": json.dumps({**ngp, **split, "frames": frames}).encode(),
    }


def colmap():
    """Return the three files of a COLMAP model, as binary and as text, by their names."""
    cameras = struct.pack("<QiiQQ4d", 1, 1, 1, 14, 9, 20.0, 20.0, 7.0, 4.5)
    images, points = struct.pack("<Q", 4), struct.pack("<Q", 3)
    image_lines, point_lines = [], []
    for i in range(4):
        pose = (np.cos(i / 2), 0.0, np.sin(i / 2), 0.0, 0.1 * i, 0.2, 3.0)
        seen = [(1.5, 2.5, j + 1) for j in range(3)]
        images += struct.pack("<i7di", i + 1, *pose, 1) + f"{i}.png".encode() + b"\0"
        images += struct.pack("<Q", 3) + b"".join(struct.pack("<ddq", *each) for each in seen)
        numbers = " ".join(map(repr, map(float, pose)))
        corners = " ".join(f"{a} {b} {c}" for a, b, c in seen)
        image_lines += [f"{i + 1} {numbers} 1 {i}.png", corners]
    for j in range(3):
        place, track = (0.1 * j, 0.2, 0.3 * j), [(i + 1, j) for i in range(4)]
        points += struct.pack("<Q3d3BdQ", j + 1, *place, 1, 2, 3, 0.5, 4)
        points += b"".join(struct.pack("<ii", *each) for each in track)
        ends = " ".join(f"{a} {b}" for a, b in track)
        point_lines.append(f"{j + 1} {' '.join(map(str, place))} 1 2 3 0.5 {ends}")
    return {
        "cameras.bin": cameras,
        "images.bin": images,
        "points3D.bin": points,
        "cameras.txt": b"# cameras\n1 PINHOLE 14 9 20 20 7 4.5\n",
        "images.txt": "\n".join(image_lines).encode(),
        "points3D.txt": "\n".join(point_lines).encode(),
    }


def llff():
    """Return {name: bytes} of poses_bounds.npy for four frames."""
    rows = []
    for i in range(4):
        turn = np.array(_turn(i))[:3]
        matrix = np.stack([-turn[:, 1], turn[:, 0], turn[:, 2], turn[:, 3], [9, 14, 20]], 1)
        rows.append([*matrix.ravel(), 1.0, 5.0])
    file = io.BytesIO()
    np.save(file, np.array(rows))
    return {"poses_bounds.npy": file.getvalue()}
