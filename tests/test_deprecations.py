"""Which deprecations fail a test: those of calls by coordnet or by the test itself."""

import subprocess
import sys
import warnings

import pytest

# a dependency that deprecates a function and still calls it itself
LIBRARY = """
import subprocess
import sys
import warnings

def attributed_to_itself(category):
    warnings.warn("an example of a deprecation", category)

def attributed_to_the_caller(category):
    warnings.warn("an example of a deprecation", category, stacklevel=2)

def uses(deprecated, category):
    deprecated(category)
    return "went on"
"""
FUNCTIONS = ("attributed_to_itself", "attributed_to_the_caller")


@pytest.fixture
def library():
    """The functions of a module that lies elsewhere."""
    names = {"__name__": "library"}
    exec(compile(LIBRARY, "/elsewhere/library.py", "exec"), names)
    return names


@pytest.mark.parametrize("category", [DeprecationWarning, PendingDeprecationWarning, FutureWarning])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_deprecated_call_of_our_own_fails(library, name, category):
    with pytest.raises(category, match="an example"):
        library[name](category)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_deprecated_call_inside_a_dependency_does_not(library, name):
    assert library["uses"](library[name], FutureWarning) == "went on"


@pytest.mark.parametrize("category", [UserWarning, RuntimeWarning, ResourceWarning])
def test_every_other_warning_fails(library, category):
    with pytest.raises(category, match="an example"):
        library["uses"](library["attributed_to_itself"], category)
    with pytest.raises(category):
        warnings.warn_explicit("an example", category, "/elsewhere/library.py", 1)


def test_child_processes_keep_to_the_same():
    code = "import warnings; warnings.warn_explicit('', {}, 'x.py', 1, {!r})".format
    for name, module, status in [
        ("FutureWarning", "torch", 0),
        ("DeprecationWarning", "coordnet.field", 0),  # Python's own filters know no packages
        ("DeprecationWarning", "__main__", 1),
        ("UserWarning", "torch", 1),
    ]:
        child = subprocess.run([sys.executable, "-c", code(name, module)], capture_output=True)
        assert child.returncode == status, child.stderr
