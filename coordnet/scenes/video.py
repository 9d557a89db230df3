"""Video files: MP4, GIF, or a folder of PNGs, written frame by frame."""

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

from ..checks import positive
from ..errors import refuse
from ..files import atomic, atomic_path, refuse_file
from ..image_files.writing import to_samples, write_image

__all__ = ["VIDEO_ENDINGS", "check_video", "is_video", "write_video"]

# "" is a folder of PNGs
VIDEO_ENDINGS = (".mp4", ".gif", "")
_LONGEST = {".mp4": 16_384, ".gif": 65_535}
_FASTEST = {".gif": 50.0}
_FRAME = "frame_{:05d}.png"


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
        )
    fps = positive("fps", fps)
    fastest = _FASTEST.get(ending, 1000.0)
    if not 0.01 <= fps <= fastest:
        rule = f"frames a second of a video in {ending or 'PNGs'} must be 0.01 to {fastest:g}"
        refuse_file(path, rule, f"fps={fps}")
    longest = _LONGEST.get(ending, 1 << 30)
    if max(width, height) > longest:
        rule = f"a side of a video in {ending} can have at most {longest:,} pixels"
        refuse_file(path, rule, f"{width} x {height} pixels")
    if channels == 4 and ending:
        remedy = "Put them on a background, or write a folder of PNGs."
        refuse_file(path, f"a video in {ending} has no alpha", "frames with alpha", remedy)
    if not ending:
        _check_folder(path)
        return ()
    if path.exists() and not path.is_file():
        refuse_file(path, "a video must be written to a file", "a folder or device of that name")
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
    """Write frames as they come, atomically: the file or folder appears when all are written.

    An .mp4 is H.264 (yuv420p, BT.709, constant quality 18), written by the ffmpeg of the package
    imageio-ffmpeg: odd sides become even by doubling the last row or column. A .gif has 256
    colors in each frame; frames that do not change become one that lasts longer. A name without
    an ending is a folder of frame_00000.png and so on.

    Args:
        path: what is written, and replaced where it exists (see `check_video`).
        frames: ``(H, W, 3)`` each, all of one size, floats in [0, 1] or uint8; for a folder also
            ``(H, W, 4)``. One is held in memory at a time, for a .gif also one byte a pixel of
            those before.
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
        refuse_file(path, "a video must have frames", "none")
    shape = np.shape(first)
    if len(shape) != 3 or shape[2] not in (3, 4) or 0 in shape:
        refuse_file(path, "the frames of a video must be arrays (H, W, 3)", f"shape {shape}")
    height, width, channels = shape
    check_video(path, width, height, fps=fps, channels=channels)
    number = 0

    def samples(frame: np.ndarray | None) -> Iterator[np.ndarray]:
        nonlocal number
        while frame is not None:
            if np.shape(frame) != shape:
                got = f"{np.shape(frame)} in frame {number}, {shape} before"
                refuse_file(path, "the frames of a video must have one shape", got)
            values = np.asarray(frame)
            if values.dtype != np.uint8 and values.dtype.kind != "f":
                rule = "the frames of a video must be floats in [0, 1] or uint8"
                refuse_file(path, rule, f"dtype {values.dtype}")
            yield to_samples(path, values, 8)
            number += 1
            frame = next(remaining, None)

    write = {".mp4": _write_mp4, ".gif": _write_gif, "": _write_folder}[path.suffix.lower()]
    write(path, samples(first), (width, height), fps)
    return number


def _check_folder(path: Path) -> None:
    rule = "frames must be written to a new folder, or to one of frames"
    if path.exists() and not path.is_dir():
        refuse_file(path, rule, "a file")
    other = sorted(v.name for v in path.iterdir() if not _is_frame(v)) if path.exists() else ()
    if other:
        refuse_file(path, rule, f"a folder with {other[0]}")


def _is_frame(path: Path) -> bool:
    digits = path.name.removeprefix("frame_").removesuffix(".png")
    return path.is_file() and digits.isdecimal() and path.name == _FRAME.format(int(digits))


def _write_folder(
    path: Path, frames: Iterator[np.ndarray], size: tuple[int, int], fps: float
) -> None:
    target = Path(os.path.realpath(path))
    beside, old = (
        target.with_name(f".{target.name[:200]}.{secrets.token_hex(4)}.tmp") for _ in range(2)
    )
    try:
        beside.mkdir()
        for i, frame in enumerate(frames):
            write_image(beside / _FRAME.format(i), frame)
        if target.exists():
            _check_folder(target)  # again: time has passed
            target.rename(old)
        beside.rename(target)
    finally:
        for folder in (beside, old):
            shutil.rmtree(folder, ignore_errors=True)


def _write_gif(path: Path, frames: Iterator[np.ndarray], size: tuple[int, int], fps: float) -> None:
    from PIL import Image

    def pictures() -> Iterator[Image.Image]:
        for i, frame in enumerate(frames):
            picture = Image.fromarray(frame).quantize(256, Image.Quantize.MEDIANCUT)
            # whole hundredths of a second, which alternate so that no error adds up
            start, end = (round(100 * j / fps) for j in (i, i + 1))
            picture.info["duration"] = 10 * (end - start)
            yield picture

    with atomic(path) as file:
        rest = pictures()
        next(rest).save(file, "GIF", save_all=True, append_images=rest, loop=0, interlace=0)


def _write_mp4(path: Path, frames: Iterator[np.ndarray], size: tuple[int, int], fps: float) -> None:
    width, height = size
    even = ((0, height % 2), (0, width % 2), (0, 0))
    rate = str(Fraction(fps).limit_denominator(100_000))
    with atomic_path(path) as beside, tempfile.TemporaryFile() as log:
        command = [
            *(_ffmpeg(), "-hide_banner", "-nostdin", "-y", "-loglevel", "error"),
            *("-f", "rawvideo", "-pix_fmt", "rgb24"),
            *("-s", f"{width + width % 2}x{height + height % 2}", "-framerate", rate),
            *("-i", "pipe:0", "-c:v", "libx264", "-crf", "18"),
            *("-vf", "scale=out_color_matrix=bt709:out_range=tv,format=yuv420p"),
            *("-colorspace", "bt709", "-color_primaries", "bt709", "-color_trc", "bt709"),
            *("-movflags", "+faststart", "-f", "mp4", f"file:{beside}"),
        ]
        # not imageio_ffmpeg.write_frames, which prints what ffmpeg says and takes a failure at the
        # end for success; in a session of its own, so that Ctrl-C reaches it through this process
        pipe = subprocess.PIPE
        with subprocess.Popen(command, stdin=pipe, stderr=log, start_new_session=True) as process:
            assert process.stdin is not None
            try:
                for frame in frames:
                    data = np.pad(frame, even, mode="edge").tobytes()
                    if not _sent(process.stdin.write, data):
                        break
                else:
                    _sent(process.stdin.close)
                if process.wait():
                    log.seek(0)
                    lines = log.read().decode(errors="replace").split("\n")
                    first = next((line.strip() for line in lines if line.strip()), "")
                    why = first or f"exit {process.returncode}"
                    raise RuntimeError(f"{path} could not be written: ffmpeg says: {why}")
            except BaseException:
                process.kill()
                raise
            finally:
                with contextlib.suppress(OSError):
                    process.stdin.close()


def _sent(send: Callable[..., object], *data: bytes) -> bool:
    """Whether ffmpeg took it; where it has ended, its status tells why."""
    try:
        send(*data)
    except BrokenPipeError:
        return False
    return True


def _ffmpeg() -> str:
    """Return the path of an ffmpeg, or refuse."""
    try:
        from imageio_ffmpeg import get_ffmpeg_exe

        return get_ffmpeg_exe()
    except (ImportError, RuntimeError) as error:
        fault = "it is not installed" if isinstance(error, ImportError) else "no program ffmpeg"
        remedy = "Run: pip install 'coordnet[video]'; or write a .gif."
        refuse("an .mp4 needs the package imageio-ffmpeg", fault, remedy)
