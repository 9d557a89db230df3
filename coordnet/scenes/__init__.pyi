from .cameras.bounds import (
    SceneBox as SceneBox,
    arrangement as arrangement,
    box_from_poses as box_from_poses,
    focus_point as focus_point,
    near_far_box as near_far_box,
    near_far_from_poses as near_far_from_poses,
)
from .cameras.cameras import Cameras as Cameras
from .cameras.lens import distort as distort, undistort as undistort
from .cameras.paths import (
    interpolated_path as interpolated_path,
    orbit_around as orbit_around,
    orbit_path as orbit_path,
    spiral_path as spiral_path,
)
from .cameras.poses import average_pose as average_pose, look_at as look_at
from .cameras.ray_table import RayTable as RayTable
from .figures import colored_depth as colored_depth, save_contact_sheet as save_contact_sheet
from .options import (
    SceneExport as SceneExport,
    SceneOptions as SceneOptions,
    SceneRender as SceneRender,
)
from .radiance.carved_grid import CarvedGrid as CarvedGrid
from .radiance.field import RadianceField as RadianceField
from .radiance.hierarchical import (
    HierarchicalModel as HierarchicalModel,
    original_nerf as original_nerf,
)
from .radiance.hull import visual_hull as visual_hull
from .radiance.mesh import Mesh as Mesh, extract_mesh as extract_mesh
from .radiance.model import RadianceModel as RadianceModel, RenderOutput as RenderOutput
from .radiance.objective import RadianceObjective as RadianceObjective
from .radiance.occupancy_model import OccupancyModel as OccupancyModel
from .radiance.ply import write_ply as write_ply
from .radiance.unbounded import UnboundedModel as UnboundedModel
from .radiance.view import View as View, render_view as render_view
from .reading.formats import FORMATS as FORMATS, is_scene as is_scene, scene_splits as scene_splits
from .reading.images import SceneImages as SceneImages
from .reading.pixels import composite as composite
from .reading.scene import Scene as Scene, read_cameras as read_cameras, read_scene as read_scene
from .rendering import ray_sampling as ray_sampling, volume as volume
from .rendering.contraction import contract as contract
from .rendering.occupancy_grid import OccupancyGrid as OccupancyGrid
from .rendering.packed_samples import PackedSamples as PackedSamples
from .rendering.volume import Rendering as Rendering, render_rays as render_rays
from .task import SceneTask as SceneTask
from .video import (
    VIDEO_ENDINGS as VIDEO_ENDINGS,
    check_video as check_video,
    is_video as is_video,
    write_video as write_video,
)
