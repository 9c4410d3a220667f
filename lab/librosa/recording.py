"""Writes what librosa finds in a recording and in a song made from it, which the tests of package songs compare ours with.

    python3 lab/librosa/recording.py ../shared/audio/music_22050.wav songs/testdata/recording.npz

It needs librosa 0.10.2 (pip install librosa==0.10.2) and is run at the top of the repository. The song is the recording
again and again, in whole copies, until it lasts at least 240 s. Both are analysed by librosa's default parameters, but with
tuning 0 for the chroma, as our operation has it. Beats are tracked on the onset strength that is kept, a mean over bands.
beat_track would take the median over bands if it were given samples, and then some beats are a frame away.

Names begin with recording_ or song_. Matrices have a row for each frame that is kept. Kept are 80 frames evenly spread from
the first to the last (frames), and 4 for the tempogram, whose rows are long (tempogram_frames). All beats are kept.
"""

import argparse

import librosa
import numpy

SECONDS = 240
FRAMES, TEMPOGRAM_FRAMES = 80, 4
N_FFT, HOP, BANDS, COEFFICIENTS, WINDOW = 2048, 512, 128, 20, 384


def spread(count, frames):
    """Returns count frames from the first to the last of so many."""
    return numpy.linspace(0, frames - 1, count).round().astype(numpy.int64)


def analyse(y, rate):
    """Returns the arrays that are kept of a signal's analysis."""
    power = numpy.abs(librosa.stft(y, n_fft=N_FFT, hop_length=HOP)) ** 2
    mel = librosa.feature.melspectrogram(S=power, sr=rate, n_mels=BANDS)
    decibels = librosa.power_to_db(mel, ref=1.0, amin=1e-10, top_db=80.0)
    mfcc = librosa.feature.mfcc(S=decibels, n_mfcc=COEFFICIENTS)
    chroma = librosa.feature.chroma_stft(S=power, sr=rate, tuning=0.0, norm=numpy.inf)
    onset = librosa.onset.onset_strength(S=decibels, sr=rate, hop_length=HOP, n_fft=N_FFT)
    tempogram = librosa.feature.tempogram(onset_envelope=onset, sr=rate, hop_length=HOP, win_length=WINDOW)
    tempo = librosa.feature.tempo(onset_envelope=onset, sr=rate, hop_length=HOP)
    _, beats = librosa.beat.beat_track(onset_envelope=onset, sr=rate, hop_length=HOP, trim=True)
    kept, long = spread(FRAMES, len(onset)), spread(TEMPOGRAM_FRAMES, len(onset))
    return {
        "frames": kept,
        "mfcc": mfcc.T[kept].astype(numpy.float32),
        "chroma": chroma.T[kept].astype(numpy.float32),
        "onset": onset[kept].astype(numpy.float32),
        "tempogram_frames": long,
        "tempogram": tempogram.T[long].astype(numpy.float32),
        "tempo": numpy.atleast_1d(tempo),
        "beats": numpy.asarray(beats, numpy.int64),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("recording")
    parser.add_argument("archive")
    options = parser.parse_args()
    y, rate = librosa.load(options.recording, sr=None)
    copies = -(-SECONDS * int(rate) // len(y))
    arrays = {"song_copies": numpy.array([copies], numpy.int64)}
    for name, signal in (("recording", y), ("song", numpy.tile(y, copies))):
        found = analyse(signal, rate)
        arrays.update({f"{name}_{key}": numpy.ascontiguousarray(value) for key, value in found.items()})
        print(f"{name}: {len(signal) / rate:.1f} s, {found['tempo'][0]:.3f} beats a minute, {len(found['beats'])} beats")
    numpy.savez_compressed(options.archive, **arrays)
    print(f"librosa {librosa.__version__}, NumPy {numpy.__version__}")


if __name__ == "__main__":
    main()
