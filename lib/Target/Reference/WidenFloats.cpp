#include "tilewright/Passes.h"
namespace tilewright {
#define GEN_PASS_DEF_WIDENFLOATS
#include "tilewright/Passes.h.inc"
namespace { struct WidenFloats : impl::WidenFloatsBase<WidenFloats> { void runOnOperation() override {} }; }
}
