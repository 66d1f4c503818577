//===- EmitElements.cpp - kernels that compute each element in one thread ----------------===//
//
// Before, in a kernel of 12 blocks of 256 threads:
//   %0 = linalg.generic {exp} ins(%x) outs(%y) : tensor<128x96xf32>
// After, with 4 adjacent elements per thread:
//   %g = block * 256 + thread
//   scf.if %g < 3072 {
//     %i, %j = delinearize %g into (128, 24)
//     ...                                      // y[i, j * 4 + c] = exp(x[i, j * 4 + c]), for c from 0 to 3
//   }
//
// Test: test/Codegen/NVPTX/lower-to-threads.mlir
//
//===----------------------------------------------------------------------===//
#include "dialects/Tile/Sizes.h"
#include "lib/Codegen/GPU/ThreadKernel.h"

using namespace mlir;

namespace tilewright::gpu {

LogicalResult emitElements(ThreadKernel &kernel) {
  OpBuilder &builder = kernel.builder;
  Elements &elements = kernel.elements;
  int64_t vector = kernel.schedule.vector, threads = kernel.schedule.threads;
  Value number = elements.add(elements.multiply(kernel.block, elements.constant(threads)), kernel.thread);
  SmallVector<AffineExpr> groups;
  auto results = kernel.results();
  for (size_t begin = 0; begin < results.size();) {
    BlockArgument sample = results[begin].second;
    SmallVector<Value> extents = elements.extents(sample);
    size_t end = begin + 1;
    while (end < results.size() && elements.extents(results[end].second) == extents)
      ++end;
    AffineExpr total = getAffineConstantExpr(1, builder.getContext());
    for (AffineExpr size : tile::sizesOf(sample))
      total = total * size;
    groups.push_back(total.floorDiv(vector));
    // From here on, an index of the last dimension is the index of a group of `vector` adjacent elements.
    if (vector > 1)
      extents.back() = elements.constant(cast<ShapedType>(sample.getType()).getShape().back() / vector);
    Value count = elements.constant(1);
    for (Value extent : extents)
      count = elements.multiply(count, extent);
    auto inside = arith::CmpIOp::create(builder, kernel.loc(), arith::CmpIPredicate::ult, number, count);
    auto branch = scf::IfOp::create(builder, kernel.loc(), TypeRange(), inside, /*withElse=*/false);
    elements.inScope([&] {
      builder.setInsertionPointToStart(&branch.getThenRegion().front());
      SmallVector<Value> at = elements.delinearize(number, extents);
      Value first = at.empty() ? Value() : elements.multiply(at.back(), elements.constant(vector));
      if (vector > 1)
        elements.assumeMultiple(first, vector);
      // Compute all results before storing any of them, because a result may be stored in the memory of an operand.
      struct Made {
        Value value;
        BlockArgument destination;
        SmallVector<Value> at;
      };
      SmallVector<Made> made;
      SmallVector<Value> lanes;
      for (int64_t lane = 0; lane < vector; ++lane)
        lanes.push_back(first ? elements.add(first, elements.constant(lane)) : Value());
      for (auto [value, destination] : ArrayRef(results).slice(begin, end - begin)) {
        if (vector > 1) {
          std::vector<SmallVector<Value>> ats(vector, at);
          for (auto [adjacent, lane] : llvm::zip_equal(ats, lanes))
            adjacent.back() = lane;
          elements.computeTogether(value, ats);
        }
        for (Value lane : lanes) {
          if (lane)
            at.back() = lane;
          made.push_back({elements.element(value, at), destination, at});
        }
      }
      for (Made &each : made)
        elements.store(each.value, each.destination, each.at, kernel.pointers[each.destination]);
    });
    begin = end;
  }
  // The grid has one thread per group of elements. The number of threads is the maximum of the numbers of groups of the
  // results. If sizes are unknown, the sum of these numbers is used, which is an upper bound.
  AffineExpr all = groups.front();
  for (AffineExpr other : ArrayRef(groups).drop_front()) {
    auto a = dyn_cast<AffineConstantExpr>(all), b = dyn_cast<AffineConstantExpr>(other);
    if (a && b)
      all = a.getValue() < b.getValue() ? other : all;
    else if (all != other)
      all = all + other;
  }
  kernel.setGrid(all.ceilDiv(threads));
  return success();
}

} // namespace tilewright::gpu
