"""Releases memory that torch still holds after `torch._dynamo.reset()`: 120 to 200 KB per compilation, with any backend.

- For each object that a guard compares by identity, Dynamo makes a finalizer that references all data from which the guards of that
  compilation are made (`CheckFunctionManager.id_ref` of torch/_dynamo/guards.py). Most of these objects are classes and functions,
  which are never freed.
- Fake parameters have fake gradients if the parameters have gradients (torch/_subclasses/meta_utils.py). They form a reference cycle:
  fake tensor, its mode, the mode's sizes, the parameter, and its gradient, which references the fake tensor from C++. Python's garbage
  collector does not see the last reference.
- The results of fake operations are cached for all sizes that ever occurred (`FakeTensorMode.cache`).

test/Conformance/growth.py measures this memory. Tests: test/Python/test_after_reset.py.
"""

from __future__ import annotations

import weakref

from torch._dynamo.guards import CheckFunctionManager, DeletedGuardManagerWrapper
from torch._guards import TracingContext
from torch._subclasses.fake_tensor import FakeTensorMode

FAKE_RESULTS = 1000  # maximum number of results that remain cached; they occupy some MB


def _is_over(manager: CheckFunctionManager) -> bool:
    """Returns whether the compiled code of `manager` is gone or not stored yet: its finalizers call only
    `invalidate`, which then does nothing."""
    guards = getattr(manager, "guard_manager", None)
    return isinstance(guards, DeletedGuardManagerWrapper) or (guards is not None and getattr(guards, "cache_entry", manager) is None)


class Leftovers:
    """State of torch that outlives the compilations of a process."""

    def __init__(self):
        self._over = weakref.WeakSet()  # managers that were over at the last reset; code that is being stored just now is not among them
        self._shapes = weakref.WeakSet()  # the ShapeEnv of each compilation since the last reset

    def watch(self, context: TracingContext | None) -> None:
        """Records the sizes of a compilation that begins. Dynamo traced it with another fake mode than the context's,
        but with the same sizes."""
        if context is not None and context.fake_mode is not None and context.fake_mode.shape_env is not None:
            self._shapes.add(context.fake_mode.shape_env)

    def drop(self) -> None:
        """Drops the state. Called by torch._dynamo.reset() after it has forgotten all compilations."""
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
        """Detaches the finalizers of compilations that are over now and were over at the last reset."""
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
