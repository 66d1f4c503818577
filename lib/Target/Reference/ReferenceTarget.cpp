//===- ReferenceTarget.cpp - the reference tenant: plain loops, f64 accumulation ------===//
#include "tilewright/Target.h"
#include "tilewright/Pipelines.h"

namespace tilewright {
std::unique_ptr<Target> createReferenceTarget() { return nullptr; }
} // namespace tilewright
