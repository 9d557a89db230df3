"""Readers: files in, coordinates and values out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy import attributes, listing

if TYPE_CHECKING:
    from .audio import (
        Audio,
        AudioWriter,
        check_audio_output,
        read_audio,
        subtype_for,
        write_audio,
    )
    from .images import Image, check_output, read_image, write_image
    from .sampling import (
        describe_periods,
        grid_step,
        nyquist_harmonic,
        nyquist_warning,
        uniform_step,
    )
    from .scene import Scene, read_cameras, read_scene
    from .scene_formats import FORMATS, is_scene, scene_splits
    from .scene_images import SceneImages
    from .scene_pixels import composite
    from .tables import Table, read_table, write_table
    from .text_table import TextTable
    from .times import TimeAxis
    from .units import UNITS, in_unit
    from .video import VIDEO_ENDINGS, check_video, is_video, write_video

_WHERE = {
    **dict.fromkeys(
        ("Audio", "AudioWriter", "check_audio_output", "read_audio", "subtype_for", "write_audio"),
        "audio",
    ),
    **dict.fromkeys(("Image", "check_output", "read_image", "write_image"), "images"),
    **dict.fromkeys(
        ("describe_periods", "grid_step", "nyquist_harmonic", "nyquist_warning", "uniform_step"),
        "sampling",
    ),
    **dict.fromkeys(("Scene", "read_cameras", "read_scene"), "scene"),
    **dict.fromkeys(("FORMATS", "is_scene", "scene_splits"), "scene_formats"),
    "SceneImages": "scene_images",
    "composite": "scene_pixels",
    **dict.fromkeys(("Table", "read_table", "write_table"), "tables"),
    "TextTable": "text_table",
    "TimeAxis": "times",
    **dict.fromkeys(("UNITS", "in_unit"), "units"),
    **dict.fromkeys(("VIDEO_ENDINGS", "check_video", "is_video", "write_video"), "video"),
}

__all__ = [
    "FORMATS",
    "UNITS",
    "VIDEO_ENDINGS",
    "Audio",
    "AudioWriter",
    "Image",
    "Scene",
    "SceneImages",
    "Table",
    "TextTable",
    "TimeAxis",
    "check_audio_output",
    "check_output",
    "check_video",
    "composite",
    "describe_periods",
    "grid_step",
    "in_unit",
    "is_scene",
    "is_video",
    "nyquist_harmonic",
    "nyquist_warning",
    "read_audio",
    "read_cameras",
    "read_image",
    "read_scene",
    "read_table",
    "scene_splits",
    "subtype_for",
    "uniform_step",
    "write_audio",
    "write_image",
    "write_table",
    "write_video",
]

__getattr__ = attributes(__name__, _WHERE)
__dir__ = listing(__name__, __all__)
