from .audio import Audio as Audio
from .figures import SoundFigure as SoundFigure, save_sound as save_sound
from .formats import check_audio_output as check_audio_output, subtype_for as subtype_for
from .options import SoundOptions as SoundOptions, SoundRender as SoundRender
from .reading import read_audio as read_audio
from .samples import AudioSamples as AudioSamples
from .task import SoundTask as SoundTask
from .writing import AudioWriter as AudioWriter, write_audio as write_audio
