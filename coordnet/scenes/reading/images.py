"""Pictures of a posed scene: color multiplied by alpha, and alpha."""

from __future__ import annotations

import copy
import os
import re
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
import torch
from torch import Tensor

from ...errors import InputError, refuse
from ...files import refuse_file
from ...image_files.image import Image
from ...memory import available_memory, empty
from .pixels import area_average, composite, premultiplied

__all__ = ["SceneImages"]

T = TypeVar("T")

_AHEAD = 2  # pictures that a thread may be ahead


class SceneImages:
    """Pictures of one or several sizes, their pixels numbered picture by picture, row by row.

    The numbering is that of `coordnet.scenes.RayTable`. Full-size pictures of 8 bits are kept
    as they are in the file, 4 bytes a pixel, and multiplied by alpha as they are fetched; others
    are kept as premultiplied float32, 16 bytes a pixel.

    Attributes:
        sizes: ``(n, 2)`` int64, width and height.
        offsets: ``(n + 1,)`` int64, the number of each picture's first pixel, and the total.
        has_alpha: whether any pixel is not opaque.
        notes: sentences for the console, on what was not plain about the files.
    """

    def __init__(self, pixels: Tensor, sizes: Tensor, notes: Sequence[str] = ()) -> None:
        """Wrap pixels.

        Args:
            pixels: ``(total, 4)``, uint8 (straight alpha) or float32 (premultiplied).
            sizes: ``(n, 2)``.
            notes: sentences.
        """
        self.sizes = sizes.to(torch.int64)
        total = torch.cumsum(self.sizes.prod(-1), 0)
        self.offsets = torch.cat([total.new_zeros(1), total])
        self._data = pixels
        if pixels.shape != (int(self.offsets[-1]), 4):
            got = f"pixels of shape {tuple(pixels.shape)} for {int(self.offsets[-1])} in all"
            refuse("there must be four values for every pixel", got)
        # averages of opaque pixels may round to a little less than 1
        opaque = 255 if pixels.dtype == torch.uint8 else 1 - 1e-5
        self.has_alpha = bool((pixels[:, 3] < opaque).any())
        self.notes = tuple(notes)

    @classmethod
    def load(
        cls,
        paths: Sequence[Path],
        names: Sequence[str],
        reduction: int = 1,
        *,
        check: Callable[[int, int, int], object] | None = None,
        progress: Callable[[int], object] | None = None,
    ) -> SceneImages:
        """Read pictures from files.

        Args:
            paths: the files.
            names: what the scene calls them, for messages.
            reduction: make the sides this many times shorter, rounded to whole pixels, by
                `area_average` of the premultiplied values.
            check: called with a picture's place, width and height as they are in the file,
                before anything is kept of it.
            progress: called with 1 after each picture.

        Raises:
            InputError: a file that cannot be read, has an EXIF orientation, alpha beyond 0 … 1,
                or another depth than the first where pictures are kept at full size.
        """
        buffer = torch.empty(0, 4, device="cpu")
        used, sizes, without_alpha = 0, [], 0
        notes: Counter[str] = Counter()

        def read(i: int) -> _Picture:
            return _read(paths[i], names[i], reduction, lambda w, h: check and check(i, w, h))

        for i, picture in enumerate(_in_threads(read, len(paths))):
            if not sizes:
                size = picture.pixels.numel() // 4
                _check_memory(picture.pixels, len(paths), reduction)
                buffer = empty((size * len(paths), 4), picture.pixels.dtype)
            if picture.pixels.dtype != buffer.dtype:
                refuse_file(
                    paths[i],
                    f"all pictures of a scene must have as many bits as the first, {names[0]!r}",
                    f"{picture.bits} bits for {names[i]!r}",
                    "Read the scene with a downscale of 2 or more.",
                )
            height, width = picture.pixels.shape[:2]
            size = height * width
            if used + size > len(buffer):
                larger = empty((max(used + size, 2 * len(buffer)), 4), buffer.dtype)
                larger[:used] = buffer[:used]
                buffer = larger
            buffer[used : used + size] = picture.pixels.reshape(-1, 4)
            used += size
            sizes.append((width, height))
            notes.update(picture.notes)
            without_alpha += not picture.alpha
            if progress is not None:
                progress(1)
        counted = [
            f"{note} ({count} of {len(paths)} pictures)" if count > 1 else f"{note} (1 picture)"
            for note, count in notes.items()
        ]
        if 0 < without_alpha < len(paths):
            text = (
                f"{without_alpha} of {len(paths)} pictures have no alpha and are taken as opaque."
            )
            counted.append(text)
        return cls(buffer[:used], torch.tensor(sizes, device="cpu").reshape(-1, 2), counted)

    def __len__(self) -> int:
        """Return the number of pictures."""
        return len(self.sizes)

    @property
    def number_of_pixels(self) -> int:
        """Pixels of all pictures together."""
        return len(self._data)

    @property
    def nbytes(self) -> int:
        """Bytes that the pixels take."""
        return self._data.numel() * self._data.element_size()

    @property
    def device(self) -> torch.device:
        """Where the pixels are."""
        return self._data.device

    def to(self, device: torch.device | str) -> SceneImages:
        """Return the pictures on a device."""
        moved = copy.copy(self)
        moved.sizes, moved.offsets, moved._data = (
            tensor.to(device) for tensor in (self.sizes, self.offsets, self._data)
        )
        return moved

    def pixels(self, which: Tensor | slice) -> tuple[Tensor, Tensor]:
        """Return some pixels.

        Args:
            which: ``(N,)`` whole numbers from 0 to `number_of_pixels` less 1, or a slice.

        Returns:
            Color times alpha ``(N, 3)`` and alpha ``(N, 1)``, float32.
        """
        if isinstance(which, slice):
            rows = self._data[which]
        elif self._data.dtype == torch.uint8:
            # four bytes at once: gathering rows of bytes takes several times as long
            words = self._data.view(torch.int32)[:, 0]
            rows = words.index_select(0, which)[:, None].view(torch.uint8)
        else:
            rows = self._data.index_select(0, which)
        if rows.dtype == torch.uint8:
            straight = rows.float()
            alpha = straight[:, 3:]
            return straight[:, :3] * alpha / 65025.0, alpha / 255.0
        return rows[:, :3], rows[:, 3:]

    def image(self, i: int) -> Tensor:
        """Return one picture, ``(H, W, 4)`` float32: color times alpha, and alpha."""
        i = range(len(self))[i]
        width, height = self.sizes[i].tolist()
        start = int(self.offsets[i])
        color, alpha = self.pixels(slice(start, start + width * height))
        return torch.cat([color, alpha], -1).reshape(height, width, 4)

    def composited(self, i: int, background: Tensor | float = 1.0) -> Tensor:
        """Return one picture over a background (white by default), ``(H, W, 3)`` float32."""
        image = self.image(i)
        return composite(image[..., :3], image[..., 3:], background)


def _check_memory(pixels: Tensor, number: int, reduction: int) -> None:
    """Refuse pictures that would not fit, were they all as large as the first."""
    height, width = pixels.shape[:2]
    needed, available = number * pixels.numel() * pixels.element_size(), available_memory()
    if available is not None and needed > available:
        refuse(
            "the pictures of a scene must fit into memory",
            f"{number} pictures of {width} x {height} pixels, which need {needed / 1e9:.1f} GB,"
            f" with {available / 1e9:.1f} GB available",
            f"Read the scene with a downscale of {2 * reduction} or more.",
        )


class _Picture(NamedTuple):
    pixels: Tensor
    bits: int
    alpha: bool
    notes: tuple[str, ...]


def _read(path: Path, name: str, reduction: int, check: Callable[[int, int], object]) -> _Picture:
    """Read one picture, and make it smaller; the message of a refusal names the frame."""
    from ...image_files.reading import read_image

    try:
        image = read_image(path)
    except InputError as error:
        raise InputError(f"frame {name!r}: {error.rule}", error.got, error.remedy) from error
    for note in image.notes:
        if match := re.match(r"EXIF orientation ([2-8])", note):
            refuse_file(
                path,
                f"frame {name!r}: a posed picture must be stored upright",
                f"EXIF orientation {match[1]}",
                "Whether its pose is that of the stored or of the turned picture is not known:"
                " turn the pixels, remove the tag, and find the poses of those pictures.",
            )
    check(image.width, image.height)
    about = image.bit_depth, image.channels in (2, 4), image.notes
    if reduction == 1 and image.pixels.dtype == np.uint8:
        return _Picture(torch.from_numpy(_straight(image)), *about)
    values = premultiplied(image)
    if about[1] and image.pixels.dtype == np.float32:
        low, high = values[..., 3].aminmax()
        if float(low) < 0 or float(high) > 1:
            rule = f"frame {name!r}: alpha must lie in 0 … 1"
            refuse_file(path, rule, f"{float(low):g} to {float(high):g}")
    if reduction > 1:
        height, width = (_reduced(side, reduction) for side in (image.height, image.width))
        if min(height, width) < 1:
            refuse_file(
                path,
                f"frame {name!r}: a smaller picture must have at least one pixel in each direction",
                f"{image.width} x {image.height} pixels, {reduction} times smaller",
            )
        values = area_average(values, height, width)
    return _Picture(values, *about)


def _reduced(side: int, reduction: int) -> int:
    """Return the side of a picture made smaller, rounded half up."""
    return (2 * side + reduction) // (2 * reduction)


def _straight(image: Image) -> np.ndarray:
    """Return 8-bit samples as red, green, blue and alpha."""
    if image.channels == 4:
        return image.pixels
    out = np.empty((image.height, image.width, 4), np.uint8)
    out[..., :3] = image.pixels[..., : 1 if image.channels <= 2 else 3]
    out[..., 3:] = image.pixels[..., 1:] if image.channels == 2 else 255
    return out


def _in_threads(work: Callable[[int], T], number: int) -> Iterator[T]:
    """Yield ``work(i)`` in order, done in a few threads that stay a few pictures ahead."""
    threads = max(1, min(4, os.cpu_count() or 1, number))
    pool = ThreadPoolExecutor(threads, "coordnet-pictures")
    waiting: deque[Future[T]] = deque()
    try:
        for i in range(number):
            waiting.append(pool.submit(work, i))
            if len(waiting) >= _AHEAD * threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
