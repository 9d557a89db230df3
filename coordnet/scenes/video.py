"""Moving pictures out: MP4, GIF, or a folder of PNGs, written while the frames are made."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np

from ..errors import positive_number, refuse
from ..files import atomic
from ..image_files.checks import refuse_file
from ..image_files.writing import to_samples, write_image
from .gif import GifWriter

__all__ = ["VIDEO_ENDINGS", "check_video", "is_video", "write_video"]

# "" is a folder of PNGs
VIDEO_ENDINGS = (".mp4", ".gif", "")
_LONGEST = {".mp4": 16_384, ".gif": 65_535}
_FASTEST = {".gif": 50.0}
_FRAME = "frame_{:05d}.png"

_Write = Callable[[np.ndarray], object]


def is_video(path: str | os.PathLike[str]) -> bool:
    """Whether a name is one of moving pictures: it ends in .mp4 or .gif, or has no ending."""
    return Path(path).suffix.lower() in VIDEO_ENDINGS


def check_video(
    path: str | os.PathLike[str], width: int, height: int, *, fps: float = 30.0, channels: int = 3
) -> tuple[str, ...]:
    """Refuse what a name cannot hold, before any frame is made for it.

    An existing file is not refused: whether to replace it is the caller's decision. A folder is
    refused that holds anything but frames of an earlier call.

    Args:
        path: the name; its ending chooses the format, and without one it is a folder.
        width: pixels in a row.
        height: rows.
        fps: frames a second; a folder of PNGs has none.
        channels: 3, or 4 for a folder of PNGs.

    Returns:
        Sentences on what is not as in the frames.

    Raises:
        InputError: another ending, a side too long or a rate that the format cannot hold, alpha
            where it has none, imageio-ffmpeg missing for an .mp4, a folder of other files.
    """
    path = Path(path)
    ending = path.suffix.lower()
    if ending not in VIDEO_ENDINGS:
        refuse_file(
            path,
            "a video's name must end in .mp4 or .gif, or have no ending for a folder of PNGs",
            f"the ending {path.suffix!r}",
            "Choose one of them.",
        )
    fps = positive_number("fps", fps, "Pass 30, say.")
    fastest = _FASTEST.get(ending, 1000.0)
    if not 0.01 <= fps <= fastest:
        remedy = "Pass 30, say." if fps < 1 or ending != ".gif" else "Pass 25, say, or use .mp4."
        refuse_file(path, f"frames a second must be from 0.01 to {fastest:g}", f"fps={fps}", remedy)
    longest = _LONGEST.get(ending, 1 << 30)
    if max(width, height) > longest:
        refuse_file(
            path,
            f"a side of a video in {ending} can have at most {longest:,} pixels",
            f"{width} x {height} pixels",
            "Make it smaller, or write a folder of PNGs.",
        )
    if channels == 4 and ending:
        refuse_file(
            path,
            f"a video in {ending} has no alpha",
            "frames with alpha",
            "Put them on a background, or write a folder of PNGs.",
        )
    if not ending:
        _check_folder(path)
        return ()
    if path.exists() and not path.is_file():
        rule = "a video must be written to a file"
        refuse_file(path, rule, "a folder or device of that name", "Choose another name.")
    if ending == ".gif":
        return ("a GIF has at most 256 colors in a frame.",)
    _ffmpeg()
    if width % 2 or height % 2:
        doubled = [name for name, side in (("column", width), ("row", height)) if side % 2]
        even = f"{width + width % 2} x {height + height % 2}"
        return (f"H.264 needs even sides: the last {' and '.join(doubled)} is doubled, to {even}.",)
    return ()


def write_video(
    path: str | os.PathLike[str], frames: Iterable[np.ndarray], *, fps: float = 30.0
) -> int:
    """Write frames as they come; the file, or folder, appears whole or not at all.

    An .mp4 is H.264 (yuv420p, BT.709, constant quality 18), written by the ffmpeg of the package
    imageio-ffmpeg: odd sides become even by doubling the last row or column. A .gif has 256
    colors in each frame. A name without an ending is a folder of frame_00000.png and so on.

    Args:
        path: what is written, and replaced where it exists (see `check_video`).
        frames: ``(H, W, 3)`` each, all of one size, floats in [0, 1] or uint8; for a folder also
            ``(H, W, 4)``. One is held in memory at a time.
        fps: frames a second.

    Returns:
        The number of frames.

    Raises:
        InputError: as `check_video`; no frames; frames of different shapes.
        OSError: the file cannot be written.
        RuntimeError: ffmpeg failed.

    Example:
        >>> write_video("fade.gif", (np.full((64, 96, 3), i / 30) for i in range(31)), fps=25)
        31
    """
    path = Path(path)
    remaining = iter(frames)
    first = next(remaining, None)
    if first is None:
        refuse_file(path, "a video must have frames", "none", "Pass one or more.")
    shape = np.shape(first)
    if len(shape) != 3 or shape[2] not in (3, 4) or 0 in shape:
        rule = "the frames of a video must be arrays (H, W, 3)"
        refuse_file(path, rule, f"shape {shape}", "Pass RGB pictures.")
    height, width, channels = shape
    check_video(path, width, height, fps=fps, channels=channels)
    sink = {".mp4": _mp4, ".gif": _gif, "": _folder}[path.suffix.lower()]
    number = 0
    with sink(path, width, height, fps) as write:
        frame: np.ndarray | None = first
        while frame is not None:
            if np.shape(frame) != shape:
                refuse_file(
                    path,
                    "the frames of a video must have one shape",
                    f"{np.shape(frame)} in frame {number}, {shape} before",
                    "Resize them.",
                )
            values = np.asarray(frame)
            if values.dtype != np.uint8 and values.dtype.kind != "f":
                rule = "the frames of a video must be floats in [0, 1] or uint8"
                refuse_file(path, rule, f"dtype {values.dtype}", "Convert them.")
            write(to_samples(path, values, 8))
            number += 1
            frame = next(remaining, None)
    return number


def _check_folder(path: Path) -> None:
    rule = "frames must be written to a new folder, or to one of frames"
    if path.exists() and not path.is_dir():
        refuse_file(path, rule, "a file", "Choose another name, or end it in .mp4 or .gif.")
    odd = (
        sorted(each.name for each in path.iterdir() if not _is_frame(each)) if path.exists() else ()
    )
    if odd:
        refuse_file(path, rule, f"a folder with {odd[0]}", "Choose another name.")


def _is_frame(path: Path) -> bool:
    digits = path.name.removeprefix("frame_").removesuffix(".png")
    return path.is_file() and digits.isdecimal() and path.name == _FRAME.format(int(digits))


@contextlib.contextmanager
def _folder(path: Path, width: int, height: int, fps: float) -> Iterator[_Write]:
    target = Path(os.path.realpath(path))
    beside, old = (
        target.with_name(f".{target.name[:200]}.{secrets.token_hex(4)}.tmp") for _ in range(2)
    )
    number = 0

    def write(frame: np.ndarray) -> None:
        nonlocal number
        write_image(beside / _FRAME.format(number), frame)
        number += 1

    try:
        beside.mkdir()
        yield write
        if target.exists():
            _check_folder(target)  # again: time has passed
            target.rename(old)
        beside.rename(target)
    finally:
        for each in (beside, old):
            shutil.rmtree(each, ignore_errors=True)


@contextlib.contextmanager
def _gif(path: Path, width: int, height: int, fps: float) -> Iterator[_Write]:
    with atomic(path) as file:
        writer = GifWriter(file, width, height, fps)
        yield writer.write
        writer.finish()


@contextlib.contextmanager
def _mp4(path: Path, width: int, height: int, fps: float) -> Iterator[_Write]:
    even = ((0, height % 2), (0, width % 2), (0, 0))
    size = f"{width + width % 2}x{height + height % 2}"
    rate = str(Fraction(fps).limit_denominator(100_000))
    with atomic(path) as file, tempfile.TemporaryFile() as log:
        command = [
            *(_ffmpeg(), "-hide_banner", "-nostdin", "-y", "-loglevel", "error"),
            *("-f", "rawvideo", "-pix_fmt", "rgb24", "-s", size, "-framerate", rate),
            *("-i", "pipe:0", "-c:v", "libx264", "-crf", "18"),
            *("-vf", "scale=out_color_matrix=bt709:out_range=tv,format=yuv420p"),
            *("-colorspace", "bt709", "-color_primaries", "bt709", "-color_trc", "bt709"),
            *("-movflags", "+faststart", "-f", "mp4", f"file:{file.name}"),
        ]
        # in a session of its own, so that Ctrl-C reaches it through this process alone
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=log,
            start_new_session=True,
        )
        assert process.stdin is not None
        stdin = process.stdin

        def failed() -> RuntimeError:
            process.wait()
            log.seek(0)
            said = log.read().decode(errors="replace").split("\n")
            why = next(
                (line.strip() for line in said if line.strip()), f"exit {process.returncode}"
            )
            return RuntimeError(f"{path} could not be written: ffmpeg says: {why}")

        def write(frame: np.ndarray) -> None:
            try:
                stdin.write(np.pad(frame, even, mode="edge").tobytes())
            except BrokenPipeError:
                raise failed() from None

        try:
            yield write
            try:
                stdin.close()
            except BrokenPipeError:
                raise failed() from None
            if process.wait():
                raise failed()
        except BaseException:
            process.kill()
            process.wait()
            raise
        finally:
            with contextlib.suppress(OSError):
                stdin.close()


def _ffmpeg() -> str:
    """Return the path of an ffmpeg, or refuse."""
    rule, remedy = "an .mp4 needs the package imageio-ffmpeg", "pip install 'coordnet[video]'"
    try:
        from imageio_ffmpeg import get_ffmpeg_exe

        return get_ffmpeg_exe()
    except ImportError:
        refuse(rule, "an installation without it", f"Run: {remedy}; or write a .gif.")
    except RuntimeError:
        refuse(rule, "one without a program ffmpeg", f"Run: {remedy}; or write a .gif.")
