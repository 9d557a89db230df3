"""What tests of scenes share besides fixtures."""

import pytest

from coordnet.errors import InputError


def refusal(call, *args, **kwargs):
    """Return the text of the refusal that a call ends in, one line."""
    with pytest.raises(InputError) as caught:
        call(*args, **kwargs)
    text = str(caught.value)
    assert "\n" not in text
    return text
