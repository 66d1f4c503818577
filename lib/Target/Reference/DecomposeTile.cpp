#include "tilewright/Passes.h"
namespace tilewright {
#define GEN_PASS_DEF_DECOMPOSETILE
#include "tilewright/Passes.h.inc"
namespace { struct DecomposeTile : impl::DecomposeTileBase<DecomposeTile> { void runOnOperation() override {} }; }
}
