"""The direction of imports, and what importing costs."""

import ast
import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

import coordnet

PACKAGE = Path(coordnet.__file__).parent
SCRIPTS = PACKAGE.parent / "scripts"

# a room is a module or a package right under coordnet/; each may import what its line names
GROUND = {
    *("_lazy", "checks", "constants", "errors", "files", "grids", "memory", "modes", "specs"),
    *("tensor_files", "text", "version"),
}
CORE = {"encodings", "networks", "field", "operators", "saving", "training"}
TOOLS = {"image_files", "metrics", "plotting", "rendering"}
KINDS = {"pictures", "sounds", "series", "scenes"}
ALLOWED = {
    **dict.fromkeys(GROUND | TOOLS | {"encodings", "networks"}, GROUND),
    "field": GROUND | {"encodings", "networks"},
    "operators": GROUND,
    "saving": GROUND | {"encodings", "networks", "field"},
    "training": GROUND | {"encodings", "networks", "field", "metrics"},
    "kinds": GROUND | TOOLS | CORE,
    **dict.fromkeys(KINDS, GROUND | TOOLS | CORE | {"kinds"}),
}
ALLOWED["runs"] = GROUND | TOOLS | CORE | KINDS | {"kinds"}
ALLOWED["cli"] = ALLOWED["runs"] | {"runs"}
ALLOWED["__main__"] = {"cli"}
ALLOWED["__init__"] = set(ALLOWED) - {"runs", "cli", "__main__"}

MODULES = sorted(PACKAGE.rglob("*.py"))


def room_of(path):
    first = path.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


def imports(tree, package):
    """Yield (absolute module, imported name or None) for every import, wherever it stands.

    Args:
        tree: the parsed module.
        package: the dotted package that relative imports start from.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".")
            parts = parts[: len(parts) - node.level + 1] if node.level else []
            base = ".".join([*parts, *([node.module] if node.module else [])])
            yield from ((base, alias.name) for alias in node.names)


def rooms_imported(path):
    """Return the rooms that a module of the package imports from."""
    package = ".".join(["coordnet", *path.relative_to(PACKAGE).parent.parts])
    found = set()
    for module, name in imports(ast.parse(path.read_text(encoding="utf-8")), package):
        parts = module.split(".")
        if parts[0] != "coordnet":
            continue
        if len(parts) > 1:
            found.add(parts[1])
        elif name is not None and is_room(name):
            found.add(name)  # from . import room
        elif name != "__version__":
            found.add("__init__")  # a public name of the whole
    return found


def is_room(name):
    return (PACKAGE / name).is_dir() or (PACKAGE / f"{name}.py").is_file()


def test_every_room_has_a_line_here():
    assert {room_of(path) for path in MODULES} <= set(ALLOWED)


def test_the_table_itself_has_no_circle():
    left = {room: set(allowed) - {room} for room, allowed in ALLOWED.items() if room not in GROUND}
    left = {room: allowed - GROUND for room, allowed in left.items()}
    while left:
        free = [room for room, allowed in left.items() if not allowed]
        assert free, left
        left = {room: allowed - set(free) for room, allowed in left.items() if room not in free}


def test_no_arrow_against_the_direction():
    arrows = {
        str(path): rooms_imported(path) - {room_of(path)} - ALLOWED[room_of(path)]
        for path in MODULES
    }
    assert len(arrows) > 100
    forbidden = {path: sorted(rooms) for path, rooms in arrows.items() if rooms}
    assert not forbidden, "a module and the rooms that it must not import from"


def test_the_reader_of_imports_reads_them():
    assert rooms_imported(PACKAGE / "training" / "objective.py") >= {"field", "metrics", "training"}
    assert rooms_imported(PACKAGE / "pictures" / "task.py") >= {"image_files", "training", "kinds"}
    assert rooms_imported(PACKAGE / "scenes" / "task.py") >= {"training", "plotting", "files"} - {
        "plotting"
    }
    source = "import coordnet.cli\nfrom .. import field, runs\nfrom ..cli.main import main\n"
    found = list(imports(ast.parse(source), "coordnet.encodings"))
    assert found == [
        ("coordnet.cli", None),
        ("coordnet", "field"),
        ("coordnet", "runs"),
        ("coordnet.cli.main", "main"),
    ]


def test_base_rooms_have_no_circle():
    arrows = {name: set() for name in GROUND}
    for path in MODULES:
        if room_of(path) in GROUND:
            arrows[room_of(path)] |= rooms_imported(path) & GROUND - {room_of(path)}
    while arrows:
        free = {name for name, targets in arrows.items() if not targets & arrows.keys()}
        assert free, arrows
        arrows = {name: targets for name, targets in arrows.items() if name not in free}


@pytest.mark.parametrize("path", sorted(SCRIPTS.glob("*.py")), ids=lambda path: path.name)
def test_scripts_use_public_names_only(path):
    public = {name for name in dir(coordnet) if not name.startswith("_")} | {"__version__"}
    tree = ast.parse(path.read_text(encoding="utf-8"))
    aliases = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                assert not alias.name.startswith("coordnet."), alias.name
                if alias.name == "coordnet":
                    aliases.add(alias.asname or alias.name)
    for module, name in imports(tree, "scripts"):
        if name is not None and module.split(".")[0] == "coordnet":
            assert module.count(".") <= 1, f"{module} is inside a room"
            assert not module.split(".")[-1].startswith("_"), module
            assert name in importlib.import_module(module).__all__, f"{module}.{name}"
    for node in ast.walk(tree):
        of_coordnet = (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id in aliases
        )
        assert not of_coordnet or node.attr in public, f"coordnet.{node.attr}"


def test_every_public_name_resolves():
    assert len(coordnet.__all__) > 20
    for name in set(coordnet.__all__) - {"__version__"}:
        public = getattr(coordnet, name)
        assert public.__doc__, name
        assert public.__module__.startswith("coordnet"), name


def test_every_name_that_a_room_exports_resolves():
    exported = 0
    for room in {room_of(path) for path in MODULES} - {"__init__", "__main__"}:
        module = importlib.import_module(f"coordnet.{room}")
        for name in getattr(module, "__all__", []):
            assert getattr(module, name) is not None, f"{room}.{name}"
            exported += 1
    assert exported > 100


def test_rooms_are_attributes_and_every_name_is_listed():
    code = """
import sys
import coordnet as cn
names = dir(cn)
assert names == sorted(set(names))
assert {*cn.__all__, "encodings", "plotting", "training", "__file__"} <= set(names), names
assert "torch" not in sys.modules
assert not [name for name in sys.modules if name.startswith("coordnet.encodings")]
assert "octave" in cn.encodings.ENCODINGS
assert {"FourierFeatures", "ENCODINGS"} <= set(dir(cn.encodings))
assert "MLP" in dir(cn.networks) and "read_image" in dir(cn.image_files)
for name in ("errors", "metrics", "plotting", "rendering", "training"):
    assert getattr(cn, name).__name__ == "coordnet." + name
"""
    done = child(code)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_name_that_is_not_there():
    with pytest.raises(AttributeError, match="no_such_name"):
        coordnet.no_such_name  # noqa: B018


def child(code, *arguments, **environment):
    return subprocess.run(
        [sys.executable, *(["-c", code] if code else []), *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
        check=False,
    )


def test_importing_does_no_work():
    code = """
import os, signal, sys, warnings
folder = set(os.listdir())
before = (set(sys.modules), dict(os.environ), list(warnings.filters), list(sys.path))
handlers = [signal.getsignal(s) for s in (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE)]
import coordnet
new = {name.split(".")[0] for name in set(sys.modules) - before[0]}
assert before[1:] == (dict(os.environ), list(warnings.filters), list(sys.path))
assert handlers == [signal.getsignal(s) for s in (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE)]
heavy = new & {"torch", "numpy", "matplotlib", "imageio", "tqdm", "safetensors", "PIL"}
assert not heavy, heavy
assert coordnet.__version__
assert "torch" not in sys.modules
assert set(os.listdir()) == folder
"""
    done = child(code)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_using_the_names_changes_no_global_of_torch():
    code = """
import sys, random, torch, numpy
def state():
    return (torch.get_default_dtype(), torch.get_default_device(), torch.get_num_threads(),
            torch.is_grad_enabled(), torch.are_deterministic_algorithms_enabled(),
            torch.get_float32_matmul_precision(), torch.backends.cudnn.benchmark,
            torch.get_rng_state().tolist(), random.getstate(),
            str(numpy.random.get_state()), numpy.geterr())
before = state()
import coordnet
for name in coordnet.__all__:
    getattr(coordnet, name)
import coordnet.cli, coordnet.runs, coordnet.plotting
assert state() == before
assert "matplotlib" not in sys.modules
"""
    done = child(code)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_help_does_not_wait_for_torch():
    for options in (["--help"], ["fit", "--help"], ["render", "--help"]):
        code = f"""
import sys
from coordnet.cli import main
try:
    main({options!r})
except SystemExit as end:
    assert end.code == 0
heavy = {{"torch", "numpy", "matplotlib", "imageio", "tqdm"}} & set(sys.modules)
print(heavy, file=sys.stderr)
"""
        done = child(code)
        assert done.returncode == 0, done.stderr
        assert done.stderr == "set()\n"
        assert "usage: coordnet" in done.stdout


def test_the_module_runs_as_the_command():
    done = child("", "-m", "coordnet", "--help")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "usage: coordnet" in done.stdout
