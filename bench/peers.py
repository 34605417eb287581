"""The CUDA C++ programs we compare with: built once per source and compiler, run, read line by line.

A peer prints one line a case: its name, a tab, a number.
"""

import hashlib
import os
import pathlib
import shutil
import subprocess

from .mode import MODE

SOURCES = pathlib.Path(__file__).resolve().parent / "cuda"
FLAGS = ("-O3", "-std=c++17")


def find_nvcc():
    """Return the path of nvcc (PATH, then CUDA_HOME, then the usual folder), None where there is none."""
    folders = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"]
    places = [shutil.which("nvcc"), *(os.path.join(folder, "bin", "nvcc") for folder in folders if folder)]
    return next((place for place in places if place and os.access(place, os.X_OK)), None)


def _cache():
    folder = os.environ.get("WARPKIT_BENCH_CACHE") or os.path.join(os.path.expanduser("~"), ".cache", "warpkit-bench")
    os.makedirs(folder, exist_ok=True)
    return folder


class Peer:
    """One program of cuda/: the build starts at once in the background, `results()` waits, runs and reads.

    `defines`: macros, NAME=VALUE, so that parts of a large source build side by side.
    `built` is False, and every result missing, where there is no nvcc, in the simulator, and in a quick run where no
    earlier one has built it; `missing` says so in one sentence.
    """

    missing = "nvcc was not found (PATH, CUDA_HOME), so the C++ peers' columns are empty."
    unlike = "in the simulator there is no C++ peer."
    unbuilt = "quick: the C++ peers are not built yet, which takes a run without --quick, so their columns are empty."

    def __init__(self, name, compute_capability, *defines):
        major, minor = compute_capability
        self._nvcc, self._build, self._draft = find_nvcc(), None, None
        self.built = self._nvcc is not None and not MODE.simulated
        if not self.built:
            self.missing = self.unlike if MODE.simulated else self.missing
            return
        options = [*FLAGS, f"-arch=sm_{major}{minor}", *(f"-D{define}" for define in defines)]
        self.program = os.path.join(_cache(), f"{name}-{self._key(name, options)}")
        if not os.path.exists(self.program) and MODE.quick:
            self.built, self.missing = False, self.unbuilt
        elif not os.path.exists(self.program):
            self._draft = f"{self.program}.{os.getpid()}"  # renamed when whole: two runs may build at once
            command = [self._nvcc, *options, "-o", self._draft, str(SOURCES / f"{name}.cu")]
            self._build = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def _key(self, name, options):
        version = subprocess.run([self._nvcc, "--version"], capture_output=True, text=True, check=True).stdout
        texts = [path.read_text("utf-8") for path in (SOURCES / f"{name}.cu", *sorted(SOURCES.glob("*.cuh")))]
        return hashlib.sha256("\0".join([version, *options, *texts]).encode()).hexdigest()[:16]

    def results(self, *arguments):
        """Return {case: number}; RuntimeError with the compiler's or the program's words when it fails."""
        if not self.built:
            return {}
        if self._build is not None:
            words, _ = self._build.communicate()
            if self._build.returncode:
                raise RuntimeError(f"building a peer failed:\n{words}")
            os.replace(self._draft, self.program)
            self._build = None
        run = subprocess.run([self.program, *map(str, arguments)], capture_output=True, text=True, check=False)
        if run.returncode:
            raise RuntimeError(f"{os.path.basename(self.program)} failed: {run.stderr.strip()}")
        pairs = (line.rsplit("\t", 1) for line in run.stdout.splitlines() if "\t" in line)
        return {case: float(number) for case, number in pairs}

    def beside(self, report, *arguments):
        """Return `results()`; nothing where the peer fails, whose words are an error of the report then."""
        try:
            return self.results(*arguments)
        except RuntimeError as error:
            report.errors.append(str(error))
            return {}
