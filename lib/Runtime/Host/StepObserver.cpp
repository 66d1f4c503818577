//===- StepObserver.cpp - the observer of a thread --------------------------------------===//
#include "lib/Interfaces/StepObserver.h"

namespace tilewright {

static thread_local StepObserver *observerOfThread = nullptr;

StepObserver *StepObserver::ofThread() { return observerOfThread; }

StepObserver::Scope::Scope(StepObserver *observer) : outer(observerOfThread) { observerOfThread = observer; }

StepObserver::Scope::~Scope() { observerOfThread = outer; }

} // namespace tilewright
