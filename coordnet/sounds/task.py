"""Sounds: samples over time in seconds."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import ClassVar

from .. import checks
from ..errors import InputError, refuse
from ..field import Field
from ..files import JsonObject, writing
from ..kinds.listener import Listener
from ..kinds.options import RenderOptions
from ..kinds.recipe import Recipe
from ..kinds.task import About, FieldTask
from ..rendering.signal import render_signal
from ..text import plural, readable
from ..training import FitConfig
from .audio import Audio
from .figures import SoundFigure
from .formats import check_audio_output, subtype_for
from .options import SoundOptions, SoundRender
from .presets import audio_recipe
from .reading import read_audio
from .rendering import measure
from .samples import AudioSamples
from .writing import AudioWriter

__all__ = ["SoundTask"]

_PEAK = 1.0  # full scale


class SoundTask(FieldTask[SoundOptions]):
    """A sound: the coordinate is the time n / rate in seconds, float64; ±1.0 is full scale."""

    in_dim: ClassVar[int | None] = 1
    measured: ClassVar[str] = "SNR in dB, of all channels together and of each"

    def __init__(self, path: Path, options: SoundOptions, listener: Listener) -> None:
        self.path, self.listener = path, listener
        self.audio: Audio = read_audio(path)
        self.notes = list(self.audio.notes)
        self.warnings = list(self.audio.warnings)
        silent = [i for i, each in enumerate(self.audio.samples.T) if not each.any()]
        if len(silent) == self.audio.channels:
            self.warnings.append("The sound is silent: it has no SNR.")
        elif silent:
            names = ", ".join(map(str, silent))
            self.notes.append(f"Silent, and so without an SNR of its own: channel {names}.")

    @functools.cached_property
    def _samples(self) -> AudioSamples:
        return AudioSamples(self.audio.samples, self.audio.peak, self.audio.rate)

    def samples(self) -> AudioSamples:
        """Return times and samples, which stay in the file's own dtype."""
        return self._samples

    def recipe(self, options: SoundOptions) -> Recipe:
        """Return the recipe: the grid, unless the options name an encoding or a preset.

        A size or a spread of frequencies without a name means Gaussian features.
        """
        encoding = options.encoding
        ladder = options.k is not None or options.sigma is not None
        if encoding is None and options.preset is None and ladder:
            encoding = "gaussian"
        audio = self.audio
        return audio_recipe(options.preset, encoding, audio.frames, audio.channels, audio.rate)

    def config(self, options: SoundOptions, recipe: Recipe) -> FitConfig:
        """Return the settings; the errors are measured while the reconstruction is rendered."""
        return options.fit_config(recipe.steps, **recipe.config, peak=_PEAK, evaluate=False)

    def describe(self) -> About:
        """Return the rate, the size and the encoding of a sample."""
        audio = self.audio
        return {
            "rate": audio.rate,
            "frames": audio.frames,
            "channels": audio.channels,
            "seconds": audio.seconds,
            "format": audio.format,
            "subtype": audio.subtype,
        }

    def summary(self) -> str:
        """Return the length, the rate, the channels and the encoding of a sample."""
        audio = self.audio
        kind = {1: "mono", 2: "stereo"}.get(audio.channels, f"{audio.channels} channels")
        return (
            f"{audio.seconds:.6g} s at {audio.rate:,} Hz, {kind}, {audio.format} {audio.subtype} "
            f"({plural(audio.frames * audio.channels, 'sample')})"
        )

    def write_outputs(self, folder: Path, model: Field) -> dict[str, float]:
        """Write reconstruction.wav and comparison.png; return the errors of the model.

        The reconstruction has the rate, the channels and the encoding of the file; what was
        decoded from a lossy stream is written as floats.
        """
        audio, name = self.audio, "reconstruction.wav"
        figure = SoundFigure(
            audio.frames, audio.channels, audio.rate, title=readable(self.path.name)
        )
        writer = AudioWriter(
            folder / name, audio.channels, audio.rate, subtype_for(name, audio.subtype)
        )
        with writer:
            errors = self._measure(model, writer, figure)
        if writer.clipped:
            self.warnings.append(_about_clipping(writer, name))
        figure.save(folder / "comparison.png")
        return errors

    def _measure(
        self, model: Field, writer: AudioWriter | None = None, figure: SoundFigure | None = None
    ) -> dict[str, float]:
        frames = self.audio.frames
        return measure(
            model,
            self.audio,
            writer=writer,
            figure=figure,
            progress=lambda done: self.listener.progress("render", done, frames),
        )

    @classmethod
    def render(
        cls, model: Field, about: About, output: Path, options: RenderOptions, listener: Listener
    ) -> None:
        """Render the sound at any rate into a file, block by block; its ending is the format."""
        assert isinstance(options, SoundRender)
        fitted, frames, subtype = _checked(model, about)
        rate = options.rate or fitted
        number = max(1, round(frames * rate / fitted))
        channels, stored = model.out_dim, subtype_for(output, subtype)
        check_audio_output(output, number, channels, rate, stored)
        if rate < fitted:
            listener.notice(
                f"{rate:,} Hz is below the {fitted:,} Hz that were fitted: what sounds above "
                f"{rate / 2:,.6g} Hz folds back below it (aliases). To be free of them, render at "
                f"{fitted:,} Hz and resample with a filter."
            )
        blocks = render_signal(model, number, rate, device=next(model.parameters()).device)
        writer = AudioWriter(output, channels, rate, stored)
        with writing(output), writer:
            for values in blocks:
                writer.write(values)
                listener.progress("render", len(values), number)
        if writer.clipped:
            listener.warning(_about_clipping(writer, readable(output)))
        what = f"{number / rate:.6g} s at {rate:,} Hz, {plural(channels, 'channel')}, {stored}"
        listener.wrote(output, what)

    def evaluate(self, model: Field, about: About) -> JsonObject:
        """Return the metrics of the field at this sound's instants, whatever its rate."""
        fitted, frames, _ = _checked(model, about)
        audio = self.audio
        if audio.channels != model.out_dim:
            refuse(
                f"the sound must have as many channels as the run: {model.out_dim}",
                f"{audio.channels}",
                "Pass a sound of the same kind.",
            )
        # the two lengths may differ by what rounds to one sample at another rate
        slack = 1.0 / min(fitted, audio.rate)
        if audio.seconds > frames / fitted + slack:
            refuse(
                f"the sound must not be longer than the one fitted, {frames / fitted:.6g} s",
                f"{audio.seconds:.6g} s",
                "Cut it: beyond its end a fit means nothing.",
            )
        if audio.seconds < frames / fitted - slack:
            self.notes.append(
                f"The sound is shorter than the one fitted: {audio.seconds:.6g} s of "
                f"{frames / fitted:.6g} s are compared."
            )
        if audio.rate != fitted:
            self.notes.append(f"The run was fitted at {fitted:,} Hz, this is {audio.rate:,} Hz.")
        self.notes += self.warnings
        return {**self._measure(model), "peak": _PEAK, "samples": audio.frames}


def _about_clipping(writer: AudioWriter, name: str) -> str:
    """Say how many values were clipped, and how far they went."""
    return (
        f"{plural(writer.clipped, 'value')} beyond full scale clipped in {name}, the largest "
        f"{writer.largest:.4g}."
    )


def _checked(field: Field, about: About) -> tuple[int, int, str]:
    """Return the rate, the number of samples and their encoding, of a model that may be hostile."""
    remedy = "Fit the sound again."
    try:
        rate = checks.integer("rate", about.get("rate"), least=1, remedy=remedy)
        frames = checks.integer("frames", about.get("frames"), least=1, remedy=remedy)
    except InputError as error:
        refuse("a run of a sound must hold its rate and its length", error.got, remedy)
    return rate, frames, str(about.get("subtype"))
