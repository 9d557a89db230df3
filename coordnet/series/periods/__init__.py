"""Period search: Lomb-Scargle periodogram, likelihood of a period, candidates."""
