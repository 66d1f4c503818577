"""Stores torch's digest of its own source files, which is part of AOTAutogradCache's keys, between processes.

To compute this digest, torch reads 2,300 files, which takes 0.15 s in the first compilation of each process. This file
stores the digest next to AOTAutogradCache, together with a digest of the files' paths, sizes and modification times.
Checking this metadata takes 0.02 s. Python checks the same metadata to validate a .pyc file.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import pathlib
import tempfile

import torch
from torch._inductor import codecache
from torch._inductor.runtime.cache_dir_utils import cache_dir


def files_read() -> dict[str, os.stat_result]:
    """Returns a superset of the files in the package `torch` of which torch computes its digest."""
    folders = [str(pathlib.Path(torch.__file__).parent)]
    inductor = pathlib.Path(codecache.__file__).parent
    extra = [*(inductor / "codegen/aoti_runtime").glob("*.*"), inductor / "script.ld"]
    found = {str(path): path.stat() for path in extra if path.exists()}
    while folders:
        for entry in os.scandir(folders.pop()):
            if entry.name.endswith((".py", ".so")):
                found[entry.path] = entry.stat()
            elif "." not in entry.name and entry.name != "__pycache__" and os.path.exists(entry.path + "/__init__.py"):
                folders.append(entry.path)
    return found


def _files_digest() -> str:
    digest = hashlib.sha256(torch.__version__.encode())
    for path, stat in sorted(files_read().items()):
        digest.update(f"{path} {stat.st_size} {stat.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def _kept_in() -> pathlib.Path:
    return pathlib.Path(cache_dir()) / "tilewright" / "torch_key.json"


def _read(files: str) -> bytes | None:
    try:
        kept = json.loads(_kept_in().read_text())
        key = bytes.fromhex(kept["key"])
        return key if kept["files"] == files and len(key) == hashlib.sha256().digest_size else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _write(files: str, key: bytes) -> None:
    path = _kept_in()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False) as file:
            file.write(json.dumps({"files": files, "key": key.hex()}))
        os.replace(file.name, path)
    except OSError:
        pass  # the next process computes the digest again


@functools.cache
def restore_torch_key() -> None:
    """Restores the stored digest before the first access of torch.compile to AOTAutogradCache. If it is not stored or not valid, computes
    and stores it."""
    if not hasattr(codecache.torch_key, "set"):  # torch before 2.12 has no set()
        return
    files = _files_digest()
    key = _read(files)
    if key is None:
        _write(files, codecache.torch_key())
        return
    try:
        codecache.torch_key.set(key)
    except (RuntimeError, AssertionError):  # torch 2.11 raises AssertionError
        pass  # the digest has already been computed
