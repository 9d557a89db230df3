from . import packed as packed, sampling as sampling, volume as volume
