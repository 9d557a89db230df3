"""Sound files in and out: scale, containers, damage, memory."""

import io
import os
import struct
import subprocess
import sys

import numpy as np
import pytest

import coordnet as cn
from coordnet.sounds import AudioWriter, check_audio_output, read_audio, subtype_for, write_audio
from coordnet.sounds.formats import MAX_RATE

soundfile = pytest.importorskip("soundfile")

RATE = 8000
TONES = np.stack([0.5 * np.sin(np.arange(900) / 7), 0.25 * np.cos(np.arange(900) / 11)], 1)


def riff(data, *, bits=16, channels=1, rate=RATE, form=1, data_size=None, extra=b"", before=b""):
    """Build a WAV file by hand."""
    width = bits // 8 * channels
    header = struct.pack("<HHIIHH", form, channels, rate, rate * width % 2**32, width, bits)
    header += extra
    size = len(data) if data_size is None else data_size
    body = b"WAVEfmt " + struct.pack("<I", len(header)) + header + before
    body += b"data" + struct.pack("<I", size) + data
    return b"RIFF" + struct.pack("<I", len(body)) + body


def saved(path, content):
    path.write_bytes(content)
    return path


def as_bytes(values, **options):
    file = io.BytesIO()
    soundfile.write(file, values, options.pop("rate", RATE), **options)
    return file.getvalue()


# scale


def packed(kind, *values):
    return struct.pack(f"<{len(values)}{kind}", *values)


HALVES = b"".join(v.to_bytes(3, "little", signed=True) for v in (2**22, -(2**22), 1, -(2**23)))


@pytest.mark.parametrize(
    ("data", "bits", "form", "values", "peak"),
    [
        (bytes([128, 255, 0, 129]), 8, 1, [0.0, 127 / 128, -1.0, 1 / 128], 2**15),
        (packed("h", 0, 32767, -32768, 16384), 16, 1, [0.0, 32767 / 32768, -1.0, 0.5], 2**15),
        (HALVES, 24, 1, [0.5, -0.5, 2.0**-23, -1.0], 2**31),
        (packed("i", 2**30, -(2**31), 2**31 - 1), 32, 1, [0.5, -1.0, 1.0], 2**31),
        (packed("f", 1.5, -1.5, 0.25), 32, 3, [1.5, -1.5, 0.25], 1),  # floats keep their scale
        (packed("d", 1.5, -1.5, 0.25), 64, 3, [1.5, -1.5, 0.25], 1),
    ],
)
def test_the_scale_of_every_depth(tmp_path, data, bits, form, values, peak):
    audio = read_audio(saved(tmp_path / "a.wav", riff(data, bits=bits, form=form)))
    assert audio.values()[:, 0].tolist() == values
    assert audio.peak == peak
    assert (audio.rate, audio.channels, audio.frames) == (RATE, 1, len(values))


def test_an_extensible_header(tmp_path):
    pcm = bytes.fromhex("0100000000001000800000aa00389b71")
    extra = struct.pack("<HHI", 22, 16, 3) + pcm
    data = struct.pack("<4h", 16384, 0, -16384, 0)
    audio = read_audio(saved(tmp_path / "a.wav", riff(data, channels=2, form=0xFFFE, extra=extra)))
    assert audio.values().tolist() == [[0.5, 0.0], [-0.5, 0.0]]
    assert audio.format == "WAVEX"


def test_stereo_with_a_silent_right_channel(tmp_path):
    left = np.array([8192, -8192, 100], np.int16)
    data = np.stack([left, np.zeros_like(left)], 1).tobytes()
    audio = read_audio(saved(tmp_path / "a.wav", riff(data, channels=2, rate=8000)))
    assert (audio.channels, audio.rate) == (2, 8000)
    assert not audio.values()[:, 1].any()
    np.testing.assert_array_equal(audio.values()[:, 0], left / 32768)


@pytest.mark.parametrize(
    ("container", "subtype", "dtype", "step"),
    [
        ("WAV", "PCM_U8", np.int16, 2.0**-7),
        ("WAV", "PCM_16", np.int16, 2.0**-15),
        ("WAV", "PCM_24", np.int32, 2.0**-23),
        ("WAV", "PCM_32", np.int32, 2.0**-24),
        ("WAV", "DOUBLE", np.float32, 2.0**-24),
        ("WAV", "ULAW", np.int16, 2.0**-5),
        ("WAV", "ALAW", np.int16, 2.0**-5),
        ("WAVEX", "PCM_16", np.int16, 2.0**-15),
        ("RF64", "PCM_16", np.int16, 2.0**-15),
        ("FLAC", "PCM_S8", np.int16, 2.0**-7),
        ("FLAC", "PCM_24", np.int32, 2.0**-23),
        ("AIFF", "PCM_S8", np.int16, 2.0**-7),
        ("AIFF", "PCM_16", np.int16, 2.0**-15),
        ("AIFF", "FLOAT", np.float32, 2.0**-24),
        ("OGG", "VORBIS", np.float32, 0.1),
        ("OGG", "OPUS", np.float32, 0.2),
    ],
)
def test_every_container_gives_the_same_values(tmp_path, container, subtype, dtype, step):
    file = saved(tmp_path / "a.bin", as_bytes(TONES, format=container, subtype=subtype))
    audio = read_audio(file)
    assert (audio.samples.dtype, audio.samples.shape, audio.rate) == (dtype, TONES.shape, RATE)
    assert (audio.format, audio.subtype) == (container, subtype)
    np.testing.assert_allclose(audio.values(), TONES, rtol=0, atol=step)
    assert bool(audio.notes) == (container == "OGG")
    assert not audio.warnings


def test_big_endian_riff(tmp_path):
    data = as_bytes(TONES, format="WAV", subtype="PCM_16", endian="BIG")
    assert data.startswith(b"RIFX")
    audio = read_audio(saved(tmp_path / "a.wav", data))
    np.testing.assert_allclose(audio.values(), TONES, rtol=0, atol=2.0**-15)
    assert read_audio_error(saved(tmp_path / "b.wav", data[:-400]), "bytes of samples")


def test_a_part_of_the_values():
    audio = cn.sounds.Audio(np.array([[1], [-2], [4]], np.int16), 4.0, RATE, "WAV", "PCM_16")
    assert audio.values(slice(1, 3)).tolist() == [[-0.5], [1.0]]
    assert audio.seconds == 3 / RATE


# what is refused, or said


def read_audio_error(path, *words, **options):
    with pytest.raises(cn.InputError) as error:
        read_audio(path, **options)
    text = str(error.value)
    assert "\n" not in text
    for word in words:
        assert word in text, text
    return text


@pytest.mark.parametrize(
    ("container", "subtype"),
    [
        *(("WAV", "PCM_16"), ("WAV", "FLOAT"), ("WAVEX", "PCM_24"), ("RF64", "PCM_16")),
        *(("AIFF", "PCM_16"), ("FLAC", "PCM_16")),
    ],
)
@pytest.mark.parametrize("kept", [0.3, 0.9])
def test_a_header_that_promises_more_than_the_file_holds(tmp_path, container, subtype, kept):
    whole = as_bytes(np.tile(TONES, (40, 1)), format=container, subtype=subtype)
    path = saved(tmp_path / "a.wav", whole[: int(kept * len(whole))])
    read_audio_error(path, "whole", "a.wav")


def test_a_damaged_flac_names_the_place(tmp_path):
    whole = bytearray(as_bytes(np.tile(TONES, (200, 1)), format="FLAC"))
    whole[len(whole) // 2 : len(whole) // 2 + 60] = bytes(60)
    read_audio_error(saved(tmp_path / "a.flac", whole), "decoding ends after", "of 180,000 samples")


def test_an_ogg_without_its_last_page_is_said_aloud(tmp_path):
    whole = as_bytes(np.tile(TONES, (100, 1)), format="OGG", subtype="VORBIS")
    audio = read_audio(saved(tmp_path / "a.ogg", whole[: len(whole) * 2 // 3]))
    assert 0 < audio.frames < 90_000
    assert "cut short" in audio.warnings[0]


@pytest.mark.parametrize(
    "options",
    [
        {"data_size": 0xFFFFFFFF},  # a writer to a pipe cannot go back to put the size there
        {"before": b"LIST" + struct.pack("<I", 5) + b"INFO!\0"},
    ],
)
def test_headers_that_say_less_or_more(tmp_path, options):
    path = saved(tmp_path / "a.wav", riff(packed("h", 1, 2, 3), **options))
    assert read_audio(path).samples[:, 0].tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", ["0 bytes"]),
        (b"hello", ["WAV, FLAC, Ogg or AIFF", "b'hello'"]),
        (b"RIFF\x10\0\0\0WAVE", ["data"]),
        (b"fLaC" + bytes(60), ["undamaged"]),
        (b"OggS" + bytes(60), ["undamaged"]),
        (riff(b""), ["must have samples"]),
        (riff(b"\0\0", rate=0), ["a.wav"]),
        (riff(b"\0\0", rate=2**31), ["a.wav"]),
        (riff(b"\0\0", rate=MAX_RATE + 1), ["sample rate", "10,000,001"]),
        (riff(packed("f", 0, np.nan), bits=32, form=3), ["nan at sample 1 of channel 0"]),
        (riff(packed("f", np.inf, 0), bits=32, form=3), ["inf at sample 0"]),
        (riff(packed("d", 1e300), bits=64, form=3), ["finite float32"]),
        (riff(bytes(64), bits=4, form=0x11, extra=b"\2\0\x79\0"), ["a.wav"]),
    ],
)
def test_what_is_no_sound_to_fit(tmp_path, content, words):
    read_audio_error(saved(tmp_path / "a.wav", content), *words)


def test_paths_that_are_no_files(tmp_path):
    read_audio_error(tmp_path, "a folder")
    read_audio_error(tmp_path / "none.wav", "no such file")


def test_too_many_samples_are_refused_before_they_are_decoded(tmp_path):
    path = saved(tmp_path / "a.wav", riff(bytes(200), channels=2))
    read_audio_error(path, "at most 99 samples", "50 frames of 2 channels", max_values=99)
    assert read_audio(path, max_values=100).frames == 50
    # a stream header of a FLAC may promise 2^36 samples, whatever follows
    flac = bytearray(as_bytes(TONES, format="FLAC"))
    flac[21], flac[22:26] = flac[21] | 0x0F, b"\xff\xff\xff\xff"
    read_audio_error(saved(tmp_path / "b.flac", flac), "at most 268,435,456", "GB")


def test_a_flac_of_unknown_length(tmp_path):
    flac = bytearray(as_bytes(TONES, format="FLAC"))
    flac[21], flac[22:26] = flac[21] & 0xF0, bytes(4)
    read_audio_error(saved(tmp_path / "a.flac", flac), "how long it is", "Convert it to a WAV")


def test_without_soundfile_there_is_one_line(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "soundfile", None)
    path = saved(tmp_path / "a.wav", riff(bytes(8)))
    read_audio_error(path, "pip install 'coordnet[audio]'")
    with pytest.raises(cn.InputError, match=r"coordnet\[audio\]"):
        write_audio(tmp_path / "b.wav", TONES, RATE)


# writing


@pytest.mark.parametrize(
    "subtype", ["PCM_U8", "PCM_S8", "PCM_16", "PCM_24", "PCM_32", "FLOAT", "DOUBLE", "ULAW"]
)
def test_what_is_written_comes_back(tmp_path, subtype):
    values = np.array([[-0.1], [0.5], [1.2], [-1.5], [1.0], [0.0]])
    for ending in ("wav", "flac", "aiff", "aif"):
        path = tmp_path / f"a.{ending}"
        stored = subtype_for(path, subtype)
        clipped = write_audio(path, values, 44_100, subtype=stored)
        audio = read_audio(path)
        assert (audio.rate, audio.subtype) == (44_100, stored)
        got = audio.values().astype(np.float64)
        if stored in ("FLOAT", "DOUBLE"):
            assert clipped == 0
            np.testing.assert_array_equal(got, values.astype(np.float32))
            continue
        assert clipped == 2
        # half a step of the encoding, or of float32 where that is coarser
        bits = {"PCM_U8": 8, "PCM_S8": 8, "PCM_16": 16, "PCM_24": 24, "PCM_32": 25}.get(stored)
        top, error = (1.0 - 2.0 ** (1 - bits), 2.0**-bits) if bits else (0.9803, 0.02)
        top = 1.0 if stored == "PCM_32" else top
        np.testing.assert_allclose(got, np.clip(values, -1, top), rtol=0, atol=error)


def test_a_prediction_beyond_full_scale_is_clipped_and_counted(tmp_path):
    path = tmp_path / "a.wav"
    assert write_audio(path, np.array([1.2, -1.2, 0.5]), 8000) == 2
    assert read_audio(path).samples[:, 0].tolist() == [32767, -32768, 16384]
    assert write_audio(path, np.array([1.5, -2.0]), 8000, subtype="FLOAT") == 0
    assert read_audio(path).values()[:, 0].tolist() == [1.5, -2.0]


def test_16_bit_sounds_survive_bit_for_bit(tmp_path):
    samples = np.random.default_rng(0).integers(-32768, 32768, (5000, 3)).astype(np.int16)
    audio = cn.sounds.Audio(samples, 32768.0, 22_050, "WAV", "PCM_16")
    blocks = (audio.values(slice(i, i + 700)) for i in range(0, 5000, 700))
    write_audio(tmp_path / "a.wav", blocks, audio.rate, channels=3)
    np.testing.assert_array_equal(read_audio(tmp_path / "a.wav").samples, samples)


@pytest.mark.parametrize(
    ("name", "frames", "channels", "rate", "subtype", "words"),
    [
        ("a.mp3", 1, 1, 8000, "PCM_16", ".wav, .flac"),
        ("a", 1, 1, 8000, "PCM_16", "must end in"),
        ("a.flac", 1, 1, 8000, "FLOAT", "PCM_24"),
        ("a.wav", 1, 1, 8000, "MP3", "subtype"),
        ("a.flac", 1, 9, 8000, "PCM_16", "9 channels"),
        ("a.wav", 1, 1025, 8000, "PCM_16", "1025 channels"),
        ("a.flac", 1, 1, 655_349, "PCM_16", "655,349"),
        ("a.flac", 1, 1, 1_000_000, "PCM_16", "655,350"),
        ("a.wav", 1, 1, 0, "PCM_16", "sample rate"),
        ("a.wav", 1, 1, 10**8, "PCM_16", "sample rate"),
        ("a.wav", 2**30, 2, 8000, "PCM_16", "4,294,967,296 bytes"),
    ],
)
def test_files_that_cannot_hold_the_sound(name, frames, channels, rate, subtype, words):
    with pytest.raises(cn.InputError) as error:
        check_audio_output(name, frames, channels, rate, subtype)
    assert words in str(error.value)


def test_the_checked_limits_are_those_of_the_library(tmp_path):
    for rate in (1, 65_535, 655_350):
        write_audio(tmp_path / "a.flac", TONES, rate)
        assert read_audio(tmp_path / "a.flac").rate == rate
    write_audio(tmp_path / "a.wav", np.zeros((3, 1024)), MAX_RATE)
    assert read_audio(tmp_path / "a.wav").samples.shape == (3, 1024)


@pytest.mark.parametrize(
    ("block", "words"),
    [
        (np.zeros((3, 2)), r"\(n, 1\)"),
        (np.zeros(3), "shape"),
        (np.zeros((3, 1), np.int16), "int16"),
        (np.array([[0.0], [np.nan]]), "nan at sample 6 of channel 0"),
    ],
)
def test_blocks_that_are_refused_leave_no_file(tmp_path, block, words):
    path = saved(tmp_path / "a.wav", b"earlier")

    def write():
        with AudioWriter(path, channels=1, rate=8000) as file:
            file.write(np.zeros((5, 1)))
            file.write(block)

    with pytest.raises(cn.InputError, match=words):
        write()
    assert path.read_bytes() == b"earlier"
    assert os.listdir(tmp_path) == ["a.wav"]


def test_a_full_disk_is_an_error_of_the_disk(tmp_path):
    """A limit on the size of files gives the real error, without a disk to fill.

    A FLAC is cut at its very end, of which libsndfile says nothing.
    """
    code = """
import os, resource, numpy as np
from coordnet.sounds import write_audio
samples = np.random.default_rng(0).uniform(-1, 1, (100_000, 1))
write_audio("b.flac", samples, 8000)
sizes = {"a.wav": 100_000, "b.flac": os.path.getsize("b.flac") - 1}
os.remove("b.flac")
for name, size in sizes.items():
    for subtype in ("PCM_16", "FLOAT")[: 2 if name == "a.wav" else 1]:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
        try:
            blocks = (samples[i : i + 5000] for i in range(0, len(samples), 5000))
            write_audio(name, blocks, 8000, channels=1, subtype=subtype)
        except OSError as error:
            print(error.strerror)
print(os.listdir())
"""
    done = child(code, tmp_path)
    assert done.stderr == ""
    assert done.stdout.splitlines() == ["File too large"] * 3 + ["[]"]


def child(code, folder):
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        check=False,
        timeout=120,
    )


def test_a_minute_of_stereo_is_read_and_rendered_in_bounded_memory(tmp_path):
    """10.6 MB of samples, and blocks: a copy of them as floats would take 21 more."""
    rate = 44_100
    for name, seconds in (("short", 1), ("long", 60)):
        blocks = (0.5 * np.sin(np.arange(rate)[:, None] * [0.05, 0.07]) for _ in range(seconds))
        write_audio(tmp_path / f"{name}.wav", blocks, rate, channels=2)
    code = """
import resource
import coordnet as cn
from coordnet.rendering import render_signal
from coordnet.sounds import AudioSamples, AudioWriter, read_audio

def work(name):
    audio = read_audio(name)
    samples = AudioSamples(audio.samples, audio.peak, audio.rate)
    encoding = cn.FourierFeatures(1, k=2, period=1.0)
    field = cn.Field(encoding, cn.MLP(encoding.out_dim, 2, num_hidden_layers=0, seed=0))
    samples.prepare(field)
    with AudioWriter("out.wav", 2, audio.rate) as file:
        for block in render_signal(field, audio.frames, audio.rate):
            file.write(block)
    return audio.frames

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

work("short.wav")
before = peak()
print(work("long.wav"), peak() - before)
"""
    done = child(code, tmp_path)
    assert done.stderr == ""
    frames, grown = done.stdout.split()
    assert int(frames) == 60 * rate
    assert float(grown) < 32
    assert read_audio(tmp_path / "out.wav").frames == 60 * rate
