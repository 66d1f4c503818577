#include "tilewright/Passes.h"
namespace tilewright {
#define GEN_PASS_DEF_PROPAGATELAYOUT
#include "tilewright/Passes.h.inc"
namespace { struct PropagateLayout : impl::PropagateLayoutBase<PropagateLayout> { void runOnOperation() override {} }; }
}
