//===- Strided.cpp - strided reads and writes of memory -----------------------------===//
//
// as_strided refers to the memory of a tensor, but a graph of values has no memory. python/tilewright/fx/strided.py and
// the importer of exported programs therefore pass the value that the memory contains, and its strides. This value,
// flattened in memory order, represents the memory. A window of the memory is a reshape and a slice if its strides are
// nested:
//
//   as_strided(memory of 576, [2, 3, 4, 4], [288, 36, 6, 1], 7)
//     = memory reshaped to [2][8][6][6], then its slice [0:2, 0:3, 1:5, 1:5]
//
// Windows with other strides, such as overlapping windows, are gathered at computed indices.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/ATen/Table.h"
#include "lib/Import/Builder/Node.h"

namespace tilewright {
namespace {

struct MemoryWindow {
  SmallVector<AffineExpr> sizes, strides;
  AffineExpr offset;
};

/// A window as a slice of the memory, which is reshaped to counts[0] x counts[1] x .... Along dimension i, the slice
/// has kept[i] elements from first[i] on.
struct NestedWindow {
  SmallVector<AffineExpr> counts, first, kept;
  SmallVector<int64_t> dims; ///< the window's dimension for each count; the last count may belong to no dimension
};

std::optional<int64_t> constantOf(AffineExpr expr) {
  auto constant = ::mlir::dyn_cast<AffineConstantExpr>(expr);
  return constant ? std::optional(constant.getValue()) : std::nullopt;
}

/// Returns a / b if the division is known to be exact, otherwise nullopt.
std::optional<AffineExpr> exactQuotient(AffineExpr a, AffineExpr b) {
  if (constantOf(b) == 0)
    return std::nullopt;
  AffineExpr quotient = canonicalSize(getAffineBinaryOpExpr(AffineExprKind::FloorDiv, a, b));
  return canonicalSize(quotient * b) == canonicalSize(a) ? std::optional(quotient) : std::nullopt;
}

/// Returns true if the window may have several elements at different addresses along dimension `dim`: its size is not
/// known to be 1, and its stride is not known to be 0.
bool moves(const MemoryWindow &window, unsigned dim) {
  return constantOf(window.sizes[dim]) != 1 && constantOf(window.strides[dim]) != 0;
}

/// Returns the dimensions for which moves() is true, in the order of decreasing strides. Returns nullopt if a stride is
/// not a multiple of the next one.
std::optional<SmallVector<int64_t>> nestedOrder(const MemoryWindow &window) {
  SmallVector<int64_t> left, order;
  for (unsigned dim = 0; dim < window.sizes.size(); ++dim)
    if (moves(window, dim))
      left.push_back(dim);
  while (!left.empty()) {
    auto largest = llvm::find_if(left, [&](int64_t dim) {
      return llvm::all_of(
          left, [&](int64_t other) { return exactQuotient(window.strides[dim], window.strides[other]).has_value(); });
    });
    if (largest == left.end())
      return std::nullopt;
    order.push_back(*largest);
    left.erase(largest);
  }
  return order;
}

std::optional<NestedWindow> nest(Node &n, const MemoryWindow &window, AffineExpr total) {
  std::optional<SmallVector<int64_t>> order = nestedOrder(window);
  if (!order)
    return std::nullopt;
  NestedWindow nested;
  nested.dims = *order;
  AffineExpr zero = n.constantSize(0), one = n.constantSize(1), around = total, rest = canonicalSize(window.offset);
  auto add = [&](AffineExpr stride, AffineExpr kept) {
    std::optional<AffineExpr> count = exactQuotient(around, stride);
    if (!count)
      return false;
    AffineExpr first = zero;
    if (rest != zero) {
      std::optional<int64_t> elements = constantOf(rest), width = constantOf(stride);
      if (!elements || !width)
        return false;
      first = n.constantSize(*elements / *width);
      rest = n.constantSize(*elements % *width);
    }
    AffineExpr end = canonicalSize(first + kept);
    bool inside = end == *count || (constantOf(end) && constantOf(*count) && *constantOf(end) <= *constantOf(*count));
    nested.counts.push_back(*count);
    nested.first.push_back(first);
    nested.kept.push_back(kept);
    around = stride;
    return inside;
  };
  for (int64_t dim : *order)
    if (!add(window.strides[dim], window.sizes[dim]))
      return std::nullopt;
  if (around != one && !add(one, one))
    return std::nullopt;
  return nested;
}

/// Returns the index in memory of each element of the window.
Value linearIndices(Node &n, const MemoryWindow &window) {
  Value linear = n.indexScalar(window.offset, n.i64());
  int64_t rank = window.sizes.size();
  for (int64_t dim : allDims(rank)) {
    Value along = n.alongDim(n.iota({window.sizes[dim]}, 0, n.i64()), dim, rank);
    linear = n.op<AddOp>({linear, n.op<MulOp>({along, n.indexScalar(window.strides[dim], n.i64())})});
  }
  return linear;
}

/// Reads the window of `memory`, a tensor of one dimension.
Value readMemory(Node &n, Value memory, const MemoryWindow &window) {
  AffineExpr one = n.constantSize(1);
  if (std::optional<NestedWindow> nested = nest(n, window, n.sizesIn(memory).front())) {
    SmallVector<int64_t> steps(nested->counts.size(), 1);
    Value part = n.slice(n.reshape(memory, nested->counts), nested->first, steps, nested->kept);
    SmallVector<AffineExpr> walked, sizes;
    for (int64_t dim : nested->dims)
      walked.push_back(window.sizes[dim]);
    SmallVector<int64_t> order = allDims(nested->dims.size());
    llvm::sort(order, [&](int64_t a, int64_t b) { return nested->dims[a] < nested->dims[b]; });
    for (unsigned dim = 0; dim < window.sizes.size(); ++dim)
      sizes.push_back(moves(window, dim) ? window.sizes[dim] : one);
    return n.broadcast(n.reshape(n.permute(n.reshape(part, walked), order), sizes), window.sizes);
  }
  auto taken = TakeOp::create(n.builder, n.loc, tensorWithSizes(window.sizes, n.elementOf(memory)), memory,
                              ValueRange{linearIndices(n, window)}, n.builder.getI64IntegerAttr(0));
  taken->setAttr(fromStartAttrName, n.builder.getUnitAttr());
  return taken;
}

/// Returns `memory` with `part` written to the window.
Value writeMemory(Node &n, Value memory, Value part, const MemoryWindow &window) {
  std::optional<NestedWindow> nested = nest(n, window, n.sizesIn(memory).front());
  if (nested && nested->counts == nested->kept) {
    SmallVector<AffineExpr> walked;
    SmallVector<int64_t> moving, order = allDims(nested->dims.size());
    for (unsigned dim = 0; dim < window.sizes.size(); ++dim)
      if (moves(window, dim)) {
        moving.push_back(dim);
        walked.push_back(window.sizes[dim]);
      }
    for (auto [position, dim] : llvm::enumerate(nested->dims))
      order[position] = llvm::find(moving, dim) - moving.begin();
    return n.reshape(n.permute(n.reshape(part, walked), order), n.typeOf(memory));
  }
  AffineExpr count = elementCount(n.typeOf(part));
  return PutOp::create(n.builder, n.loc, memory.getType(), memory, n.reshape(part, {count}),
                       ValueRange{n.reshape(linearIndices(n, window), {count})}, 0, ScatterKind::Set);
}

/// Returns the memory of `self` as a tensor of rank 1: permutes the dimensions to the order of decreasing
/// strides, and flattens them.
Value memoryOf(Node &n, Value self) {
  MemoryWindow all{n.sizesIn(self), n.sizes(~0u, "memory"), n.constantSize(0)};
  AffineExpr total = elementCount(n.typeOf(self));
  if (constantOf(total) == 0)
    return n.reshape(self, {total});
  if (!n.failed() && all.strides.size() == all.sizes.size())
    if (std::optional<SmallVector<int64_t>> order = nestedOrder(all)) {
      AffineExpr dense = n.constantSize(1);
      bool gaps = false;
      for (int64_t dim : llvm::reverse(*order)) {
        gaps |= canonicalSize(all.strides[dim]) != dense;
        dense = canonicalSize(dense * all.sizes[dim]);
      }
      if (!gaps && dense == total) {
        for (int64_t dim : allDims(all.sizes.size()))
          if (!llvm::is_contained(*order, dim))
            order->push_back(dim);
        return n.reshape(n.permute(self, *order), {total});
      }
    }
  n.refuse("it reads the memory of " + tensorName(n.typeOf(self)) +
           ", which has gaps or elements in several places; make it contiguous first");
  return self;
}

MemoryWindow windowOf(Node &n, unsigned first, StringRef size, StringRef stride, StringRef offset) {
  MemoryWindow window{n.sizes(first, size), n.sizes(first + 1, stride),
                      n.has(first + 2, offset) ? n.size(first + 2, offset) : n.constantSize(0)};
  if (window.sizes.size() != window.strides.size())
    n.refuse("it has " + llvm::Twine(window.sizes.size()) + " sizes and " + llvm::Twine(window.strides.size()) +
             " strides");
  return window;
}

/// Refuses a window that is known to begin before the start of `memory`, or to extend beyond its end.
void checkInside(Node &n, const MemoryWindow &window, Value memory) {
  std::optional<int64_t> last = constantOf(window.offset), total = constantOf(n.sizesIn(memory).front());
  for (auto [size, stride] : llvm::zip_equal(window.sizes, window.strides)) {
    if (constantOf(size) == 0)
      return;
    last = last && constantOf(size) && constantOf(stride)
               ? std::optional(*last + (*constantOf(size) - 1) * *constantOf(stride))
               : std::nullopt;
  }
  if (constantOf(window.offset).value_or(0) < 0 || (last && total && *last >= *total))
    n.refuse("it reaches outside of the " + (total ? std::to_string(*total) + " " : std::string()) +
             "elements that are its argument's memory");
}

/// Imports as_strided(self, size, stride, storage_offset). The additional argument `memory` has the strides of `self`.
Results asStrided(Node &n) {
  Value self = n.tensor(0, "self");
  MemoryWindow window = windowOf(n, 1, "size", "stride", "storage_offset");
  if (n.failed())
    return n.refused();
  SmallVector<AffineExpr> strides = n.sizes(~0u, "memory");
  bool same =
      n.sizesIn(self) == window.sizes && window.offset == n.constantSize(0) && strides.size() == window.sizes.size();
  for (unsigned dim = 0; same && dim < window.sizes.size(); ++dim)
    same = constantOf(window.sizes[dim]) == 1 || canonicalSize(strides[dim]) == canonicalSize(window.strides[dim]);
  if (same)
    return self;
  Value memory = memoryOf(n, self);
  if (n.failed())
    return n.refused();
  checkInside(n, window, memory);
  return n.failed() ? n.refused() : Results(readMemory(n, memory, window));
}

/// Imports as_strided_scatter(self, src, size, stride, storage_offset), which writes `src` into a window of the memory
/// of `self`. The result is another window of this memory, with self_size, self_stride and self_offset.
Results asStridedScatter(Node &n) {
  Value self = n.tensor(0, "self"), part = n.cast(n.tensor(1, "src"), n.element());
  MemoryWindow window = windowOf(n, 2, "size", "stride", "storage_offset"),
               result = windowOf(n, ~0u - 2, "self_size", "self_stride", "self_offset");
  if (n.failed())
    return n.refused();
  for (auto [dim, stride] : llvm::enumerate(window.strides))
    if (constantOf(stride) == 0 && constantOf(window.sizes[dim]) != 1)
      return n.refuse("dimension " + llvm::Twine(dim) +
                      " of what it writes has stride 0: its elements share one place");
  Value memory = memoryOf(n, self);
  if (n.failed())
    return n.refused();
  checkInside(n, window, memory);
  if (n.failed())
    return n.refused();
  return readMemory(n, writeMemory(n, memory, n.broadcast(part, window.sizes), window), result);
}

} // namespace

void registerStrided(Table &t) {
  t.add("aten.as_strided.default", Aliasing::View, asStrided);
  t["aten.as_strided_scatter.default"] = asStridedScatter;
}

} // namespace tilewright
