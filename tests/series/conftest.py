"""What the tests of tables share: a file of text, and the one line of a refusal."""

import pytest

from coordnet.errors import InputError


@pytest.fixture
def csv(tmp_path):
    """Write bytes or text to a file and return its path."""

    def write(content, name="table.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.fixture
def refusal():
    """Return the one line with which a call is refused."""

    def text(call, *arguments, **options):
        with pytest.raises(InputError) as caught:
            call(*arguments, **options)
        assert "\n" not in str(caught.value)
        return str(caught.value)

    return text
