"""What torch keeps of compilations after `torch._dynamo.reset()`, and lets go of here (120 to 200 KB of each, with any backend):

- For each object that a guard compares by identity Dynamo makes a finalizer, which holds all that the guards of that compilation
  are made of (`CheckFunctionManager.id_ref` of torch/_dynamo/guards.py). Most of these objects are classes and functions, which stay.
- Fake parameters have fake gradients where the parameters have some (torch/_subclasses/meta_utils.py): a ring from a fake tensor
  through its mode, the mode's sizes, the parameter and its gradient in C++ back to it, which Python's collector does not see.
- The results of fake operations are kept for all sizes that there ever were (`FakeTensorMode.cache`).

test/Conformance/growth.py measures it, tests are in test/Python/test_after_reset.py.
"""

from __future__ import annotations

import weakref

from torch._dynamo.guards import CheckFunctionManager, DeletedGuardManagerWrapper
from torch._guards import TracingContext
from torch._subclasses.fake_tensor import FakeTensorMode

FAKE_RESULTS = 1000  # some MB of them are worth their memory


def _is_over(manager: CheckFunctionManager) -> bool:
    """Whether its compiled code is gone (or not kept yet): then `invalidate`, all that its finalizers call, does nothing."""
    guards = getattr(manager, "guard_manager", None)
    return isinstance(guards, DeletedGuardManagerWrapper) or (guards is not None and getattr(guards, "cache_entry", manager) is None)


class Leftovers:
    """What stays of the compilations of a process."""

    def __init__(self):
        self._over = weakref.WeakSet()  # managers that were over at the last reset: not of code that is being kept just now
        self._shapes = weakref.WeakSet()  # the ShapeEnv of each compilation since the last reset

    def watch(self, context: TracingContext | None) -> None:
        """A compilation begins. Dynamo has traced it with another fake mode than the context's, of the same sizes."""
        if context is not None and context.fake_mode is not None and context.fake_mode.shape_env is not None:
            self._shapes.add(context.fake_mode.shape_env)

    def drop(self) -> None:
        """torch._dynamo.reset() has forgotten all compilations."""
        self._drop_finalizers()
        for shapes in list(self._shapes):
            for tracked in shapes.tracked_fakes or ():
                fake = getattr(tracked, "fake", None)
                if getattr(fake, "is_leaf", False) and fake.grad is not None:
                    fake.grad = None
        self._shapes.clear()
        if FakeTensorMode.cache_info().size > FAKE_RESULTS:
            FakeTensorMode.cache_clear()

    def _drop_finalizers(self) -> None:
        """Those of compilations that are over, and were at the last reset."""
        over = weakref.WeakSet()
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
