"""Times librosa's analysis of a recording beside that of this project, in turns on the same machine.

    python3 lab/librosa/beside.py song.wav [--rounds 3] [--calls 5]

It needs librosa 0.10.2 (pip install librosa==0.10.2), Go, and an entry of this host in calibration.json (`go run ./cmd/calibrate`).
Without the entry, ours runs on one core. It is run at the top of the repository. A round is some calls of librosa and then 60 calls
of ./cmd/profile, which it builds. The medians of a round are printed, and their ratio. Both compute the STFT and
its power, mel spectrogram, decibels, 20 MFCCs, chroma, onset strength, tempogram and beats, by librosa's usual parameters.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import tempfile
import time

import librosa
import numba
import numpy
import scipy

PARTS = ["STFT and power", "mel", "decibels", "MFCC", "chroma", "onset strength", "tempogram", "beats"]


def analyse(y, rate):
    """Returns the seconds of each part."""
    seconds = []
    began = time.perf_counter()

    def done():
        nonlocal began
        now = time.perf_counter()
        seconds.append(now - began)
        began = now

    power = numpy.abs(librosa.stft(y)) ** 2
    done()
    mel = librosa.feature.melspectrogram(S=power, sr=rate)
    done()
    decibels = librosa.power_to_db(mel)
    done()
    librosa.feature.mfcc(S=decibels, n_mfcc=20)
    done()
    librosa.feature.chroma_stft(S=power, sr=rate)
    done()
    onset = librosa.onset.onset_strength(S=decibels, sr=rate)
    done()
    librosa.feature.tempogram(onset_envelope=onset, sr=rate)
    done()
    librosa.beat.beat_track(onset_envelope=onset, sr=rate)
    done()
    return seconds


def ours(program, song, folder):
    """Returns the median seconds of a call of this project's analysis."""
    path = os.path.join(folder, "profile.json")
    subprocess.run([program, "--audio", song, "--calls", "60", "--json", path], check=True, stdout=subprocess.DEVNULL)
    with open(path, encoding="utf-8") as file:
        return statistics.median(json.load(file)["call_seconds"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("song")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--calls", type=int, default=5)
    options = parser.parse_args()
    began = time.perf_counter()
    y, rate = librosa.load(options.song, sr=None)
    print(f"{len(y) / rate:.1f} s at {rate:.0f} Hz, loaded by librosa in {1e3 * (time.perf_counter() - began):.0f} ms")
    print(f"librosa {librosa.__version__}, NumPy {numpy.__version__}, SciPy {scipy.__version__}, numba {numba.__version__}, "
          f"{os.cpu_count()} processors, {platform.system()} {platform.machine()}")
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "profile")
        subprocess.run(["go", "build", "-o", program, "./cmd/profile"], check=True)
        for _ in range(2):  # the first calls compile
            analyse(y, rate)
        for turn in range(options.rounds):
            calls = [analyse(y, rate) for _ in range(options.calls)]
            theirs = statistics.median(sum(call) for call in calls)
            mine = ours(program, options.song, folder)
            print(f"round {turn + 1}: librosa {1e3 * theirs:.0f} ms, this project {1e3 * mine:.1f} ms, {theirs / mine:.1f} times")
            parts = [f"{name} {1e3 * statistics.median(call[k] for call in calls):.0f}" for k, name in enumerate(PARTS)]
            print("    librosa's parts in ms: " + ", ".join(parts))


if __name__ == "__main__":
    main()
