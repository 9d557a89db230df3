"""Tables as text: cells, headers, dates, units, weights."""
