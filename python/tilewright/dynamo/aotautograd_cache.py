"""Uses torch's AOTAutogradCache for graphs of this backend, so that a second process does not differentiate and decompose
a graph again.

If "bundled" entries are enabled, the cache stores the result of SerializableAOTDispatchCompiler. The key of an entry
contains the graph and torch's settings, but not the compiler. Therefore this file adds a tag that identifies Tilewright
to the key.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import pathlib
from unittest import mock

import torch
from torch._dynamo.callback import callback_handler
from torch._functorch import config as functorch_config
from torch._functorch._aot_autograd.autograd_cache import should_use_local_autograd_cache, should_use_remote_autograd_cache
from torch._functorch._aot_autograd.schemas import SerializableAOTDispatchCompiler
from torch._inductor import codecache, debug  # noqa: F401  debug: aot_autograd would import it in the first call, 0.1 s

from .. import _tilewright
from ..decompositions import lowerings, table
from ..options import CompileOptions
from ..runtime.compiled import CompiledGraph
from .function_digest import digest_of
from .torch_key import restore_torch_key


def keeps(options: CompileOptions) -> bool:
    """Returns whether compiled graphs may be stored for other processes. The options `check` and `freeze` prevent this, because they need
    the current graph or its parameters."""
    ahead = functorch_config.force_autograd_cache  # aot_compile will save the compiled code
    if ahead and (options.check or options.freeze):
        name = "check" if options.check else "freeze"
        raise ValueError(f"tilewright: a function compiled with options[{name!r}] cannot be saved; remove this option")
    wanted = options.cache and (should_use_local_autograd_cache() or should_use_remote_autograd_cache())
    return (wanted or ahead) and not options.check and not options.freeze


@functools.cache
def identity() -> str:
    """Returns a digest of this build of Tilewright, which consists of its library and of its Python files."""
    digest = hashlib.sha256(_tilewright.build_identity().encode())
    for name, path in own_files():
        digest.update(name.encode() + path.read_bytes())
    return digest.hexdigest()[:32]


def own_files() -> list[tuple[str, pathlib.Path]]:
    """Returns the package's Python files.

    In a build tree, the folders of the package are symbolic links, into which rglob does not descend. Therefore the
    search starts in the resolved folder.
    """
    folder = pathlib.Path(__file__).resolve().parents[1]
    return [(str(path.relative_to(folder)), path) for path in sorted(folder.rglob("*.py"))]


def registered_digest() -> str:
    """Returns a digest of the user's decompositions and lowerings, for keys of caches."""
    if not table.registered and not lowerings.registered:
        return ""
    return digest_of({**{f"decomposition {op}": f for op, f in table.registered.items()},
                      **{f"lowering {op}": f for op, f in lowerings.registered.items()}})  # fmt: skip


class _LazyBackward:
    """Enables bundled cache entries for backward graphs that are compiled lazily.

    torch compiles such a backward graph at its first call, after the call of the backend has returned, and saves the
    cache entry when the compiler returns. Then it runs the end callbacks while it holds a lock, which each compilation
    acquires. prewarm.py explains why these callbacks run with Dynamo disabled.
    """

    def __init__(self):
        self.patch = None
        self.callback = torch._dynamo.disable(lambda _arguments: self.end(), reason="it runs while torch holds a lock that a compilation acquires")

    def begin(self) -> None:
        if functorch_config.bundled_autograd_cache:
            return
        self.patch = functorch_config.patch(bundled_autograd_cache=True)
        self.patch.__enter__()
        if self.callback not in callback_handler.end_callbacks:  # torch._dynamo.reset() clears them
            callback_handler.register_end_callback(self.callback)

    def end(self) -> None:
        if self.patch is not None:
            self.patch.__exit__(None, None, None)
            self.patch = None


_lazy_backward = _LazyBackward()


def _contents(options: CompileOptions) -> str:
    """Returns digests of the files that the options name and of the tuning records, because the contents of these files may change."""
    records = "" if options.tune == "off" else _tilewright.records_digest(options.records)
    if not options.schedule_file:
        return records
    try:
        return records + hashlib.sha256(pathlib.Path(options.schedule_file).read_bytes()).hexdigest()
    except OSError as error:
        return str(error)


@contextlib.contextmanager
def aotautograd_cache(options: CompileOptions, arguments: str = ""):
    """Configures AOTAutogradCache. Yields a function that wraps compilers of this backend so that the cache accepts their
    results.

    `arguments` describes properties of the arguments on which the graph depends but that torch's key does not contain.
    """
    if not keeps(options):
        yield lambda compiler: compiler
        return

    def caching(compiler):
        def compile_one(gm, example_inputs):
            _lazy_backward.begin()
            return compiler(gm, example_inputs)

        return SerializableAOTDispatchCompiler(CompiledGraph, compile_one)

    tag = torch.compiler.config.cache_key_tag
    restore_torch_key()
    with (
        # To compute the cache key, torch imports Inductor's backends, which is slow. Tilewright does not use the passes of these backends.
        mock.patch.object(codecache, "init_backend_registration", lambda: None),
        torch.compiler.config.patch(  # type: ignore[attr-defined]  # torch adds patch() when it imports the module
            cache_key_tag=f"{tag} tilewright {identity()} {registered_digest()} {options} {_contents(options)}{arguments}"
        ),
        functorch_config.patch(bundled_autograd_cache=True),
    ):
        yield caching
