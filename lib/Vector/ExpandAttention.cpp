#include "tilewright/Passes.h"
using namespace mlir;
namespace tilewright {
#define GEN_PASS_DEF_EXPANDATTENTION
#include "tilewright/Passes.h.inc"
namespace vector_stage { namespace {
struct ExpandAttention : impl::ExpandAttentionBase<ExpandAttention> {
  void runOnOperation() override {}
};
} } }
