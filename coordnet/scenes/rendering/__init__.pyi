from . import ray_sampling as ray_sampling, volume as volume
