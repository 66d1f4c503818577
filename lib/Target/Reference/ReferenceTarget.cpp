//===- ReferenceTarget.cpp - the reference tenant: plain loops, f64 accumulation ------===//
#include "tilewright/Pipelines.h"
#include "tilewright/Target.h"

namespace tilewright {
std::unique_ptr<Target> createReferenceTarget() { return nullptr; }
} // namespace tilewright
