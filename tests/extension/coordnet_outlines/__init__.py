"""An encoding, a network and a kind of signal, as a package of somebody else adds them."""
