//===- OnnxShapes.cpp - reshapes, reorderings and created tensors ---------------------===//
#include "lib/Import/ONNX/OnnxSizes.h"
#include "lib/Import/ONNX/OnnxTable.h"

namespace tilewright {
namespace {

Results reshape(OnnxNode &n) {
  n.narrowResult = n.narrowOf(0);
  Value x = n.anyIn(0);
  SmallVector<AffineExpr> wanted;
  if (n.version < 5)
    for (int64_t size : n.integers("shape"))
      wanted.push_back(n.constantSize(size));
  else
    wanted = n.sizesFrom(1, "shape");
  bool allowZero = n.integer("allowzero", 0);
  if (n.failed())
    return n.refused();
  SmallVector<AffineExpr> sizes = reshapedSizes(n, n.sizesIn(x), wanted, allowZero);
  return n.failed() ? n.refused() : n.reshape(x, sizes);
}

Results transpose(OnnxNode &n) {
  n.narrowResult = n.narrowOf(0);
  Value x = n.anyIn(0);
  SmallVector<int64_t> order = n.integers("perm");
  if (n.failed())
    return n.refused();
  if (!n.attribute("perm")) {
    order = allDims(n.rankOf(x));
    std::reverse(order.begin(), order.end());
  }
  return n.permute(x, order);
}

Results concat(OnnxNode &n) {
  SmallVector<Value> values = n.allIn();
  int64_t dim =
      n.axis(n.integer("axis", n.version < 4 ? std::optional<int64_t>(1) : std::nullopt), n.rankOf(values[0]));
  if (!n.demand(n.rankOf(values[0]) > 0, "scalars cannot be concatenated"))
    return n.refused();
  return n.concat(values, dim);
}

Results slice(OnnxNode &n) {
  n.narrowResult = n.narrowOf(0);
  Value x = n.anyIn(0);
  if (n.failed())
    return n.refused();
  auto slices = readSlices(n, n.sizesIn(x));
  if (!slices)
    return n.refused();
  for (auto &[dim, part] : *slices) {
    AffineExpr first = part.first;
    if (part.step < 0 && part.count != n.constantSize(0)) {
      x = FlipOp::create(n.builder, n.loc, x.getType(), x, n.builder.getDenseI64ArrayAttr({dim}));
      first = canonicalSize(n.sizesIn(x)[dim] - 1 - first);
    }
    int64_t step = part.step < 0 ? -part.step : part.step;
    if (part.count == n.constantSize(1) || part.count == n.constantSize(0))
      step = 1;
    x = n.sliceDim(x, dim, first, part.count, step);
  }
  return x;
}

Results split(OnnxNode &n) {
  n.narrowResult = n.narrowOf(0);
  Value x = n.anyIn(0);
  int64_t dim = n.axis(n.integer("axis", 0), n.rankOf(x));
  if (!n.demand(n.rankOf(x) > 0, "a scalar cannot be split"))
    return n.refused();
  SmallVector<AffineExpr> sizes = splitSizes(n, n.sizesIn(x)[dim]);
  if (n.failed())
    return n.refused();
  SmallVector<Value> parts;
  AffineExpr offset = n.constantSize(0);
  for (AffineExpr size : sizes) {
    parts.push_back(n.sliceDim(x, dim, offset, size));
    offset = canonicalSize(offset + size);
  }
  return parts;
}

Results squeeze(OnnxNode &n) {
  n.narrowResult = n.narrowOf(0);
  Value x = n.anyIn(0);
  auto axes = n.axes(1, 13);
  if (n.failed())
    return n.refused();
  SmallVector<AffineExpr> sizes = n.sizesIn(x), kept;
  SmallVector<bool> gone(sizes.size(), false);
  if (axes)
    for (int64_t axis : *axes) {
      int64_t dim = n.axis(axis, sizes.size());
      if (n.failed() ||
          !n.demand(bool(n.agreed(sizes[dim], n.constantSize(1))), "a dimension that it drops is not of size 1"))
        return n.refused();
      gone[dim] = true;
    }
  for (auto [i, size] : llvm::enumerate(sizes))
    if (axes ? !gone[i] : size != n.constantSize(1))
      kept.push_back(size);
  return n.reshape(x, kept);
}

Results unsqueeze(OnnxNode &n) {
  n.narrowResult = n.narrowOf(0);
  Value x = n.anyIn(0);
  auto axes = n.axes(1, 13);
  if (!n.demand(axes.has_value(), "its axes are missing"))
    return n.refused();
  int64_t rank = n.rankOf(x) + axes->size();
  SmallVector<int64_t> dims;
  for (int64_t axis : *axes)
    dims.push_back(n.axis(axis, rank));
  llvm::sort(dims);
  if (!n.demand(std::adjacent_find(dims.begin(), dims.end()) == dims.end(), "an axis occurs twice"))
    return n.refused();
  SmallVector<AffineExpr> sizes = n.sizesIn(x);
  for (int64_t dim : dims)
    sizes.insert(sizes.begin() + dim, n.constantSize(1));
  return n.reshape(x, sizes);
}

Results flatten(OnnxNode &n) {
  n.narrowResult = n.narrowOf(0);
  Value x = n.anyIn(0);
  int64_t rank = n.rankOf(x), axis = n.integer("axis", 1);
  axis = axis < 0 ? axis + rank : axis;
  if (!n.demand(axis >= 0 && axis <= rank, "its axis is out of range"))
    return n.refused();
  AffineExpr outer = n.constantSize(1), inner = n.constantSize(1);
  for (auto [i, size] : llvm::enumerate(n.sizesIn(x)))
    (int64_t(i) < axis ? outer : inner) = (int64_t(i) < axis ? outer : inner) * size;
  return n.reshape(x, {outer, inner});
}

Results expand(OnnxNode &n) {
  n.narrowResult = n.narrowOf(0);
  Value x = n.anyIn(0);
  SmallVector<AffineExpr> wanted = n.sizesFrom(1, "shape");
  if (n.failed())
    return n.refused();
  auto sizes = broadcastShapes(n, n.sizesIn(x), wanted);
  if (!n.demand(sizes.has_value(), "its shape does not broadcast with the input's"))
    return n.refused();
  return n.broadcast(x, *sizes);
}

Results tile(OnnxNode &n) {
  Value x = n.in(0);
  SmallVector<AffineExpr> times = n.sizesFrom(1, "repeats");
  if (!n.demand(int64_t(times.size()) == n.rankOf(x), "it needs one repeat per dimension"))
    return n.refused();
  SmallVector<AffineExpr> split, expanded, sizes;
  for (auto [size, count] : llvm::zip_equal(n.sizesIn(x), times)) {
    split.append({n.constantSize(1), size});
    expanded.append({count, size});
    sizes.push_back(canonicalSize(size * count));
  }
  return n.reshape(n.broadcast(n.reshape(x, split), expanded), sizes);
}

/// Pads `x` along `dim` by copies of its rows, at the indices that the mode defines.
Value padByRows(OnnxNode &n, Value x, int64_t dim, int64_t low, int64_t high, llvm::StringRef mode) {
  // Negative amounts remove rows. The padding copies the remaining rows.
  const int64_t first = std::max<int64_t>(0, -low);
  int64_t size = n.staticSize(x, dim) - first - std::max<int64_t>(0, -high);
  low = std::max<int64_t>(0, low);
  high = std::max<int64_t>(0, high);
  if (!n.demand(size > 0 && low < (1 << 20) && high < (1 << 20),
                "its input has no elements for the padding, or a pad is too large"))
    return x;
  SmallVector<int64_t> indices;
  for (int64_t at = -low; at < size + high; ++at) {
    int64_t period = 2 * (size - 1), index = at;
    if (mode == "edge")
      index = std::clamp<int64_t>(at, 0, size - 1);
    else if (mode == "wrap")
      index = (at % size + size) % size;
    else if (period == 0)
      index = 0;
    else {
      index = (at % period + period) % period;
      index = index < size ? index : period - index;
    }
    indices.push_back(first + index);
  }
  return n.take(x, n.vector(indices, n.i64()), dim);
}

Results pad(OnnxNode &n) {
  Value x = n.in(0);
  std::string mode = n.text("mode", "constant");
  int64_t rank = n.rankOf(x);
  SmallVector<int64_t> pads, axes = allDims(rank);
  Type element = n.elementOf(x);
  Value filler;
  double number = 0;
  bool numberKnown = true;
  if (n.version < 11) {
    pads = n.integers(n.version < 2 ? "paddings" : "pads");
    number = n.number("value", 0.0);
  } else {
    pads = n.integersIn(1, "pads");
    if (n.given(2)) {
      const KnownElements *known = n.known(2);
      numberKnown = known && known->count() == 1 && (known->isFloat() || known->constants());
      if (numberKnown)
        number = known->isFloat() ? known->numbers[0] : double((*known->constants())[0]);
      else
        filler = n.in(2);
    }
    if (n.given(3)) {
      axes.clear();
      for (int64_t axis : n.integersIn(3, "axes"))
        axes.push_back(n.axis(axis, rank));
    }
  }
  if (!n.demand(pads.size() == 2 * axes.size(), "it needs two pads per dimension"))
    return n.refused();
  SmallVector<int64_t> low(rank, 0), high(rank, 0);
  for (auto [i, dim] : llvm::enumerate(axes)) {
    low[dim] = pads[i];
    high[dim] = pads[i + axes.size()];
    if (!n.demand(std::abs(low[dim]) < (int64_t(1) << 40) && std::abs(high[dim]) < (int64_t(1) << 40),
                  "a pad is too large"))
      return n.refused();
  }
  if (mode == "constant") {
    if (numberKnown) {
      Attribute attribute = isa<FloatType>(element) ? Attribute(n.builder.getFloatAttr(element, number))
                                                    : Attribute(n.builder.getIntegerAttr(element, int64_t(number)));
      return n.pad(x, low, high, attribute);
    }
    // If the filler is not known at compile time, select it where a padded mask of ones is 0.
    Value inside = n.pad(n.broadcast(n.scalarInt(1, n.i1()), n.sizesIn(x)), low, high);
    return n.where(inside, n.pad(x, low, high), n.reshape(n.cast(filler, element), ArrayRef<AffineExpr>()));
  }
  if (mode != "edge" && mode != "reflect" && mode != "wrap")
    return n.refuse("its mode '" + mode + "' is not supported");
  for (int64_t dim = 0; dim < rank && !n.failed(); ++dim)
    if (low[dim] || high[dim])
      x = padByRows(n, x, dim, low[dim], high[dim], mode);
  return n.failed() ? n.refused() : Results(x);
}

/// Imports Range, which returns start + i * delta. The number of elements must be an expression over the symbolic
/// sizes.
Results range(OnnxNode &n) {
  const KnownElements *start = n.known(0), *limit = n.known(1), *delta = n.known(2);
  if (!start || !limit || !delta || start->count() != 1 || limit->count() != 1 || delta->count() != 1) {
    for (unsigned i : {0, 1, 2})
      if (!n.known(i))
        (void)(i == 0 ? n.sizesFrom(0, "start") : i == 1 ? n.sizesFrom(1, "limit") : n.sizesFrom(2, "delta"));
    return n.refuse("its start, limit and delta must be single numbers");
  }
  Type element = start->element;
  AffineExpr count;
  if (start->isFloat()) {
    double length = std::ceil((limit->numbers[0] - start->numbers[0]) / delta->numbers[0]);
    if (!n.demand(length < double(int64_t(1) << 40), "its result is too long"))
      return n.refused();
    count = n.constantSize(std::max<int64_t>(0, int64_t(length)));
  } else {
    auto step = dyn_cast<AffineConstantExpr>(delta->integers[0]);
    if (!n.demand(step && step.getValue() != 0, "its delta is symbolic or 0"))
      return n.refused();
    SlicedDim part = slicedDim(n, n.constantSize(0),
                               canonicalSize(step.getValue() > 0 ? limit->integers[0] - start->integers[0]
                                                                 : start->integers[0] - limit->integers[0]),
                               std::abs(step.getValue()), n.constantSize(int64_t(1) << 40));
    count = part.count;
  }
  Type compute = n.accumulator(element);
  Value steps = n.cast(n.iota({count}, 0, n.i64()), compute);
  Value first = n.cast(n.in(0), compute), step = n.cast(n.in(2), compute);
  auto single = [&](Value value) { return n.reshape(value, ArrayRef<AffineExpr>()); };
  return n.cast(n.op<AddOp>({n.op<MulOp>({steps, single(step)}), single(first)}), element);
}

Results constantOfShape(OnnxNode &n) {
  SmallVector<AffineExpr> sizes = n.sizesFrom(0, "shape");
  if (n.failed())
    return n.refused();
  for (AffineExpr size : sizes)
    if (auto constant = dyn_cast<AffineConstantExpr>(size); constant && constant.getValue() < 0)
      return n.refuse("a size is negative");
  const onnx::Attribute *value = n.attribute("value");
  if (!value)
    return n.broadcast(n.scalar(0, n.f32()), sizes);
  OnnxValue *filler = n.graph.make();
  filler->tensor = &value->tensor;
  auto written = n.graph.materialize(*filler, "value");
  if (!written)
    return n.refuse(llvm::toString(written.takeError()));
  if (!n.demand(value->tensor.count() == 1, "its value is not one number"))
    return n.refused();
  return n.broadcast(n.reshape(*written, ArrayRef<AffineExpr>()), sizes);
}

Results eyeLike(OnnxNode &n) {
  RankedTensorType like = n.typeIn(0);
  int64_t k = n.integer("k", 0);
  if (n.failed())
    return n.refused();
  Type element = n.attribute("dtype") ? n.elementNamed("dtype") : like.getElementType();
  if (!n.demand(like.getRank() == 2, "it needs a matrix"))
    return n.refused();
  SmallVector<AffineExpr> sizes = sizesOf(like);
  Value diagonal =
      n.compare<EqOp>(n.iota(sizes, 1, n.i64()), n.op<AddOp>({n.iota(sizes, 0, n.i64()), n.scalarInt(k, n.i64())}));
  return n.cast(diagonal, element);
}

/// Imports a window function, first - second * cos(2 pi i / n) + third * cos(4 pi i / n), as a constant. `n` is the
/// size or, if the attribute `periodic` is 0, the size - 1, but at least 1.
Results window(OnnxNode &n, double first, double second, double third) {
  SmallVector<int64_t> size = n.integersIn(0, "size");
  bool periodic = n.integer("periodic", 1);
  Type element = n.elementNamed("output_datatype", onnx::ElementType::F32);
  if (!n.demand(size.size() == 1 && size[0] > 0 && size[0] <= mostKnown && isa<FloatType>(element),
                "its size is out of range, or its output_datatype is not a float"))
    return n.refused();
  double span = 2 * M_PI / double(std::max<int64_t>(1, size[0] - !periodic));
  SmallVector<double> values;
  for (int64_t i = 0; i < size[0]; ++i)
    values.push_back(first - second * std::cos(span * double(i)) + third * std::cos(2 * span * double(i)));
  Value result = n.vector(values, element);
  return n.failed() ? n.refused() : Results(result);
}
Results hannWindow(OnnxNode &n) { return window(n, 0.5, 0.5, 0); }
Results hammingWindow(OnnxNode &n) { return window(n, 25.0 / 46, 21.0 / 46, 0); }
Results blackmanWindow(OnnxNode &n) { return window(n, 0.42, 0.5, 0.08); }

Results trilu(OnnxNode &n) {
  Value x = n.in(0);
  bool upper = n.integer("upper", 1);
  if (!n.demand(n.rankOf(x) >= 2, "it needs matrices"))
    return n.refused();
  Value k = n.given(1) ? n.reshape(n.in(1), ArrayRef<AffineExpr>()) : n.scalarInt(0, n.i64());
  if (n.failed())
    return n.refused();
  int64_t rank = n.rankOf(x);
  SmallVector<AffineExpr> plane = {n.sizesIn(x)[rank - 2], n.sizesIn(x)[rank - 1]};
  Value row = n.op<AddOp>({n.iota(plane, 0, n.i64()), k}), column = n.iota(plane, 1, n.i64());
  Value keep = upper ? n.compare<GeOp>(column, row) : n.compare<LeOp>(column, row);
  return n.where(keep, x, n.scalar(0, n.elementOf(x)));
}

Results depthToSpace(OnnxNode &n) {
  Value x = n.in(0);
  int64_t block = n.integer("blocksize");
  bool columns = n.text("mode", "DCR") == "CRD";
  if (!n.demand(n.rankOf(x) == 4 && block > 0 && block < (1 << 16), "it needs a tensor of rank 4 and a blocksize"))
    return n.refused();
  SmallVector<AffineExpr> s = n.sizesIn(x);
  AffineExpr b = n.constantSize(block), c = s[1].floorDiv(block * block);
  if (columns)
    x = n.permute(n.reshape(x, {s[0], c, b, b, s[2], s[3]}), {0, 1, 4, 2, 5, 3});
  else
    x = n.permute(n.reshape(x, {s[0], b, b, c, s[2], s[3]}), {0, 3, 4, 1, 5, 2});
  return n.reshape(x, {s[0], c, s[2] * block, s[3] * block});
}

Results spaceToDepth(OnnxNode &n) {
  Value x = n.in(0);
  int64_t block = n.integer("blocksize");
  bool columns = n.text("mode", "DCR") == "CRD";
  if (!n.demand(n.rankOf(x) == 4 && block > 0 && block < (1 << 16), "it needs a tensor of rank 4 and a blocksize"))
    return n.refused();
  SmallVector<AffineExpr> s = n.sizesIn(x);
  AffineExpr b = n.constantSize(block), h = s[2].floorDiv(block), w = s[3].floorDiv(block);
  x = n.reshape(x, {s[0], s[1], h, b, w, b});
  x = n.permute(x, columns ? ArrayRef<int64_t>{0, 1, 3, 5, 2, 4} : ArrayRef<int64_t>{0, 3, 5, 1, 2, 4});
  return n.reshape(x, {s[0], s[1] * (block * block), h, w});
}

/// Imports CenterCropPad, which crops the input around its center, or pads it with zeros on both sides.
Results centerCropPad(OnnxNode &n) {
  Value x = n.in(0);
  SmallVector<int64_t> wanted = n.integersIn(1, "shape"), axes = n.integers("axes");
  int64_t rank = n.rankOf(x);
  if (!n.attribute("axes"))
    axes = allDims(rank);
  if (!n.demand(axes.size() == wanted.size(), "it needs one size per axis"))
    return n.refused();
  SmallVector<int64_t> low(rank, 0), high(rank, 0);
  for (auto [axis, size] : llvm::zip_equal(axes, wanted)) {
    int64_t dim = n.axis(axis, rank), more = size - n.staticSize(x, dim);
    if (!n.demand(size >= 0, "a size is negative"))
      return n.refused();
    low[dim] = more >= 0 ? more / 2 : -((-more) / 2);
    high[dim] = more - low[dim];
  }
  return n.pad(x, low, high);
}

/// Imports ReverseSequence, which reverses the first lengths[i] elements of sequence i, and does not change its other
/// elements.
Results reverseSequence(OnnxNode &n) {
  Value x = n.in(0), lengths = n.in(1);
  int64_t batch = n.axis(n.integer("batch_axis", 1), n.rankOf(x)),
          time = n.axis(n.integer("time_axis", 0), n.rankOf(x));
  if (!n.demand(n.rankOf(x) >= 2 && batch != time && n.rankOf(lengths) == 1, "it needs a batch and a time axis"))
    return n.refused();
  SmallVector<AffineExpr> sizes = n.sizesIn(x);
  Value position = n.iota(sizes, time, n.i64());
  Value length = n.alongDim(n.cast(lengths, n.i64()), batch, n.rankOf(x));
  Value mirrored = n.op<SubOp>({n.op<SubOp>(length, 1.0), position});
  Value index = n.where(n.compare<LtOp>(position, length), mirrored, position);
  return Value(GatherOp::create(n.builder, n.loc, x.getType(), x, index, time));
}

} // namespace

void registerOnnxShapes(OnnxTable &t) {
  t["Reshape"] = reshape;
  t["Transpose"] = transpose;
  t["Concat"] = concat;
  t["Slice"] = slice;
  t["Split"] = split;
  t["Squeeze"] = squeeze;
  t["Unsqueeze"] = unsqueeze;
  t["Flatten"] = flatten;
  t["Expand"] = expand;
  t["Tile"] = tile;
  t["Pad"] = pad;
  t["Range"] = range;
  t["ConstantOfShape"] = constantOfShape;
  t["EyeLike"] = eyeLike;
  t["HannWindow"] = hannWindow;
  t["HammingWindow"] = hammingWindow;
  t["BlackmanWindow"] = blackmanWindow;
  t["Trilu"] = trilu;
  t["DepthToSpace"] = depthToSpace;
  t["SpaceToDepth"] = spaceToDepth;
  t["CenterCropPad"] = centerCropPad;
  t["ReverseSequence"] = reverseSequence;
}

} // namespace tilewright
