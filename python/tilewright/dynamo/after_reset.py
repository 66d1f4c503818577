"""Releases memory that torch still holds after `torch._dynamo.reset()`: 120 to 200 KB per compilation, with any backend.

- For each object that a guard compares by identity, Dynamo creates a finalizer, which references all data of the compilation's guards
  (`CheckFunctionManager.id_ref` in torch/_dynamo/guards.py). Most of these objects are classes and functions, which are never freed.
- If a parameter has a gradient, its fake tensor has a fake gradient (torch/_subclasses/meta_utils.py). This causes a reference cycle:
  the fake tensor, its mode, the mode's sizes, the parameter, and the parameter's gradient, which references the fake tensor from C++.
  Python's garbage collector does not see the last reference.
- torch caches the results of fake operations for all sizes that have occurred (`FakeTensorMode.cache`).

test/Conformance/growth.py measures this memory. Tests: test/Python/test_after_reset.py.
"""

from __future__ import annotations

import weakref

from torch._dynamo.guards import CheckFunctionManager, DeletedGuardManagerWrapper
from torch._guards import TracingContext
from torch._subclasses.fake_tensor import FakeTensorMode

FAKE_RESULTS = 1000  # maximum number of results that remain cached; they occupy some MB


def _is_over(manager: CheckFunctionManager) -> bool:
    """Returns whether the compiled code of `manager` was deleted or is not stored yet. In these cases its finalizers have no effect,
    because they only call `invalidate`."""
    guards = getattr(manager, "guard_manager", None)
    return isinstance(guards, DeletedGuardManagerWrapper) or (guards is not None and getattr(guards, "cache_entry", manager) is None)


class Leftovers:
    """State of torch that outlives the compilations of a process."""

    def __init__(self):
        self._over = weakref.WeakSet()  # managers for which _is_over() was true at the last reset, and that still have finalizers
        self._shapes = weakref.WeakSet()  # the ShapeEnv of each compilation since the last reset

    def watch(self, context: TracingContext | None) -> None:
        """Records the ShapeEnv of a compilation that begins. Dynamo has traced the function with another fake mode than that of the
        context, but both have the same ShapeEnv."""
        if context is not None and context.fake_mode is not None and context.fake_mode.shape_env is not None:
            self._shapes.add(context.fake_mode.shape_env)

    def drop(self) -> None:
        """Drops the state. torch._dynamo.reset() calls this function after it has deleted all compilations."""
        self._drop_finalizers()
        for shapes in list(self._shapes):
            for tracked in shapes.tracked_fakes or ():
                fake = getattr(tracked, "fake", None)
                if fake is not None and getattr(fake, "is_leaf", False) and fake.grad is not None:
                    fake.grad = None
        self._shapes.clear()
        if FakeTensorMode.cache_info().size > FAKE_RESULTS:
            FakeTensorMode.cache_clear()

    def _drop_finalizers(self) -> None:
        """Detaches the finalizers of compilations for which _is_over() is true now and was true at the last reset: code that was not stored yet
        at one reset is stored or deleted at the next."""
        over: weakref.WeakSet = weakref.WeakSet()
        for finalizer, info in list(getattr(weakref.finalize, "_registry", {}).items()):
            manager = getattr(getattr(info.func, "func", None), "__self__", None)
            if not isinstance(manager, CheckFunctionManager) or not _is_over(manager):
                continue
            if manager in self._over:
                finalizer.detach()
            else:
                over.add(manager)
        self._over = over


leftovers = Leftovers()
