"""The setting of a run: its folders, its deadline, and the environment of its processes."""

from __future__ import annotations

import fnmatch
import os
import pathlib
import sys
import time
import uuid
from dataclasses import dataclass, field

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]
FAKE_DRIVER = pathlib.Path(os.environ.get("TILEWRIGHT_FAKE_CUDA_LIBRARY", REPOSITORY / "build" / "lib" / "libtilewright_fake_cuda.so"))


@dataclass
class Setting:
    out: pathlib.Path  # folder of the results, with at most 8 files
    work: pathlib.Path  # folder with caches and a copy of the rows, from which a later call on the same machine continues
    earlier: list[pathlib.Path] = field(default_factory=list)  # folders with rows of earlier runs
    package: pathlib.Path | None = None  # folder of the unpacked wheel; None if PYTHONPATH has the package
    only: str = ""  # patterns of keys, separated by commas; empty: all keys
    dry: bool = False
    deadline: float = float("inf")  # a value of time.time()

    def left(self) -> float:
        return self.deadline - time.time()

    def chosen(self, keys: list[str]) -> list[str]:
        patterns = [pattern for pattern in self.only.split(",") if pattern]
        return [key for key in keys if not patterns or any(fnmatch.fnmatchcase(key, pattern) for pattern in patterns)]

    def cache_id(self) -> str:
        """Returns a random identifier of the caches in the folder `work`. It is stored in this folder."""
        file = self.work / "cache-id"
        if not file.exists():
            file.write_text(uuid.uuid4().hex)
        return file.read_text()

    def environment(self) -> dict[str, str]:
        """Returns the environment of the processes of this run. Their caches are in the folder `work`."""
        python = [str(self.package)] if self.package else []
        python += [str(REPOSITORY / "tools" / "dev"), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, python)), "PYTHONUNBUFFERED": "1", "HF_HUB_OFFLINE": "1",
                       "TOKENIZERS_PARALLELISM": "false"}  # fmt: skip
        for name, folder in (("TILEWRIGHT_CACHE_DIR", "cache"), ("TILEWRIGHT_RECORDS_DIR", "records"), ("TORCHINDUCTOR_CACHE_DIR", "inductor"),
                             ("TRITON_CACHE_DIR", "triton")):  # fmt: skip
            (self.work / folder).mkdir(parents=True, exist_ok=True)
            environment[name] = str(self.work / folder)
        if self.package:
            libraries = [str(self.package / "tilewright"), os.environ.get("LD_LIBRARY_PATH", "")]
            environment["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, libraries))
        if self.dry:
            environment |= {"TILEWRIGHT_LIBCUDA": str(FAKE_DRIVER), "TILEWRIGHT_PTXAS": "off"}
            environment.setdefault("TILEWRIGHT_FAKE_CUDA", "capability=9.0,execute=0")
            environment |= {"OMP_NUM_THREADS": "1", "TORCHINDUCTOR_AUTOGRAD_CACHE": "0"}
        return environment

    def worker(self, *arguments: str) -> list[str]:
        """Returns the command of a process of worker.py."""
        return [sys.executable, "-m", "gpu_run.worker", *(["--dry"] if self.dry else []), *arguments]

    def program(self) -> pathlib.Path:
        """Returns the path of the program `tilewright`."""
        if self.package:
            return next(iter([*self.package.glob("*.data/scripts/tilewright"), *self.package.glob("bin/tilewright")]))
        return REPOSITORY / "build" / "bin" / "tilewright"
