#include "tilewright/Passes.h"
namespace tilewright {
#define GEN_PASS_DEF_COLLAPSEVIEWS
#include "tilewright/Passes.h.inc"
namespace { struct CollapseViews : impl::CollapseViewsBase<CollapseViews> { void runOnOperation() override {} }; }
}
