"""What a notebook shows of a file that was read: its sizes in a line, not its numbers."""

from pathlib import Path

import numpy as np

import coordnet as cn

SCENE = Path(__file__).parents[1] / "data" / "scene"


def shown(thing, *words):
    text = repr(thing)
    assert text.startswith(f"{type(thing).__name__}(")
    assert len(text) < 200
    assert "\n" not in text
    for word in words:
        assert word in text, text


def test_scenes():
    scene = cn.scenes.read_scene(SCENE, "train", downscale=10)
    shown(scene, "blender", "train", "with alpha", "40", "10 x 10 pixels")
    shown(scene.cameras, "40", "10 x 10 pixels")


def test_sounds(tmp_path):
    cn.sounds.write_audio(tmp_path / "a.wav", np.zeros((4000, 2)), 8000)
    shown(cn.sounds.read_audio(tmp_path / "a.wav"), "4,000", "2", "8,000 Hz", "0.5 s", "PCM_16")


def test_pictures(tmp_path):
    cn.write_image(tmp_path / "a.png", np.zeros((50, 70, 3)), bit_depth=16)
    shown(cn.read_image(tmp_path / "a.png"), "70 x 50", "RGB", "bit_depth=16", "peak=65535")


def test_tables(tmp_path):
    names = [f"a column with a long name, {i}" for i in range(30)]
    rows = [",".join(f"{n}" for _ in range(31)) for n in range(1500)]
    head = ",".join(["time", *(f'"{name}"' for name in names)])
    (tmp_path / "t.csv").write_text("\n".join([head, *rows]))
    shown(cn.series.read_table(tmp_path / "t.csv"), "1,500 rows", "26 more", "over time")
