//===- ContractionCode.cpp - the position of a block's tile of a contraction ------------===//
#include "lib/Codegen/GPU/ContractionCode.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tilewright::gpu {

AffineExpr ContractionCode::gridOf(Contraction all, const Schedule &schedule) {
  const int64_t rows = schedule.m * schedule.cluster; // the number of rows of C that a cluster computes at a time
  AffineExpr clusters = all.sizeExpr(all.batches) * all.sizeExpr(all.rows).ceilDiv(rows) *
                        all.sizeExpr(all.columns).ceilDiv(columnsOfTile(all, schedule));
  if (schedule.tilesPerBlock > 1)
    clusters = clusters.ceilDiv(schedule.tilesPerBlock);
  return clusters * schedule.blocksOfCluster();
}

ContractionCode::ContractionCode(ThreadKernel &kernel, Contraction contraction)
    : ThreadCode(kernel), contraction(std::move(contraction)) {
  kernel.setGrid(gridOf(this->contraction, schedule));
  takeTile(quotient(kernel.block, schedule.splitK));
}

SmallVector<Value> ContractionCode::extentsOfTiles() {
  SmallVector<Value> extents = extentsOf(contraction.batches);
  extents.push_back(divideUp(extentOf(contraction.rows), schedule.m * schedule.cluster));
  extents.push_back(divideUp(extentOf(contraction.columns), columnsOfTile(contraction, schedule)));
  return extents;
}

Value ContractionCode::tiles() {
  Value all = index(schedule.cluster);
  for (Value extent : extentsOfTiles())
    all = elements.multiply(all, extent);
  return all;
}

Value ContractionCode::blocks() {
  // The blocks of a cluster compute the same number of tiles.
  return elements.multiply(divideUp(tiles(), schedule.cluster * schedule.tilesPerBlock), index(schedule.cluster));
}

void ContractionCode::takeTile(Value number) {
  Contraction &all = contraction;
  Value inCluster;
  if (schedule.cluster > 1) {
    inCluster = remainder(number, schedule.cluster);
    number = quotient(number, schedule.cluster);
  }
  SmallVector<Value> extents = extentsOfTiles(), at = elements.delinearize(number, extents);
  if (schedule.tileRowsPerBand > 1)
    takeInBands(at[at.size() - 2], at.back(), extents[extents.size() - 2], extents.back());
  if (inCluster)
    at[at.size() - 2] = elements.add(elements.multiply(at[at.size() - 2], index(schedule.cluster)), inCluster);
  loops.assign(all.op.getNumLoops(), index(0));
  for (auto [loop, position] : llvm::zip(all.batches, at))
    loops[loop] = position;
  rowOrigin = elements.multiply(at[at.size() - 2], index(schedule.m));
  columnOrigin = elements.multiply(at.back(), index(columnsOfTile(contraction, schedule)));
}

void ContractionCode::takeInBands(Value &row, Value &column, Value rows, Value columns) {
  Value number = elements.add(elements.multiply(row, columns), column), height = index(schedule.tileRowsPerBand);
  Value tiles = elements.multiply(columns, height); // tiles of a band; the last band may have fewer rows
  Value band = arith::DivUIOp::create(builder, loc, number, tiles);
  Value inBand = arith::RemUIOp::create(builder, loc, number, tiles);
  Value first = elements.multiply(band, height);
  if (!dividesEvenly(rows, schedule.tileRowsPerBand))
    height = arith::MinUIOp::create(builder, loc, height, arith::SubIOp::create(builder, loc, rows, first));
  row = elements.add(first, arith::RemUIOp::create(builder, loc, inBand, height));
  column = arith::DivUIOp::create(builder, loc, inBand, height);
}

SmallVector<Value> ContractionCode::extentsOf(ArrayRef<unsigned> group) {
  return llvm::map_to_vector(group, [&](unsigned loop) { return elements.loopExtent(contraction.op, loop); });
}

Value ContractionCode::extentOf(ArrayRef<unsigned> group) {
  if (int64_t known = contraction.sizeOf(group); !ShapedType::isDynamic(known))
    return index(known);
  Value all = index(1);
  for (Value extent : extentsOf(group))
    all = elements.multiply(all, extent);
  return all;
}

void ContractionCode::setLoops(SmallVector<Value> &at, ArrayRef<unsigned> group, Value linear) {
  for (auto [loop, value] : llvm::zip_equal(group, elements.delinearize(linear, extentsOf(group))))
    at[loop] = value;
}

Value ContractionCode::batchOf(ArrayRef<unsigned> group) {
  SmallVector<Value> indices = llvm::map_to_vector(group, [&](unsigned loop) { return loops[loop]; });
  return elements.linearize(indices, extentsOf(group));
}

SmallVector<Value> ContractionCode::indicesOf(AffineMap map, ArrayRef<unsigned> one, Value at, ArrayRef<unsigned> other,
                                              Value otherAt) {
  SmallVector<Value> indices = loops;
  setLoops(indices, one, at);
  setLoops(indices, other, otherAt);
  return llvm::map_to_vector(map.getResults(), [&](AffineExpr expr) { return elements.evaluate(expr, indices); });
}

void ContractionCode::write(Value row, Value column, ArrayRef<Value> sums) {
  struct Made {
    Value value;
    BlockArgument destination;
    SmallVector<Value> at;
  };
  Type type = getElementTypeOrSelf(contraction.op->getResult(0).getType());
  SmallVector<Made> made;
  SmallVector<Value> indices = loops;
  setLoops(indices, contraction.rows, row);
  auto provide = [&](linalg::LinalgOp product, Value sum) {
    if (type != sum.getType()) // sums of i8 are computed in i32; truncation gives the same result as i8 sums that wrap
      sum = arith::TruncIOp::create(builder, loc, type, sum);
    elements.provide(product->getResult(0), [sum](ArrayRef<Value>) { return sum; });
  };
  const size_t columns = sums.size() / size_t(contraction.numProducts());
  for (size_t number = 0; number < columns; ++number) {
    setLoops(indices, contraction.columns, elements.add(column, index(int64_t(number))));
    provide(contraction.op, sums[number]);
    if (contraction.second)
      provide(contraction.second, sums[columns + number]);
    for (auto [result, of] : llvm::zip_equal(kernel.results(), contraction.results)) {
      SmallVector<Value> at = llvm::map_to_vector(of, [&](unsigned loop) { return indices[loop]; });
      made.push_back({elements.element(result.first, at), result.second, at});
    }
  }
  // Compute all results before storing any of them, because a result may be stored in the memory of an operand.
  for (Made &each : made)
    elements.store(each.value, each.destination, each.at, kernel.pointers[each.destination]);
}

SmallVector<Value> ContractionCode::added(ArrayRef<Value> a, ArrayRef<Value> b) {
  SmallVector<Value> sums;
  for (auto [one, other] : llvm::zip_equal(a, b))
    sums.push_back(arith::AddFOp::create(builder, loc, one, other));
  return sums;
}

std::optional<int64_t> ContractionCode::bytesAlongColumns() {
  std::optional<int64_t> narrowest;
  for (auto [result, of] : llvm::zip_equal(kernel.results(), contraction.results))
    if (!of.empty() && of.back() == contraction.columns.back()) {
      const int64_t bytes = memoryType(getElementTypeOrSelf(result.first.getType())).getIntOrFloatBitWidth() / 8;
      narrowest = std::min(narrowest.value_or(bytes), bytes);
    }
  return narrowest;
}

int64_t ContractionCode::fragmentsTogether(int64_t tilesN, Value columns) {
  constexpr int64_t storeBytes = 16;
  // If lanes do not exchange sums, a lane has two adjacent columns.
  int64_t together = std::min<int64_t>(4, storeBytes / bytesAlongColumns().value_or(storeBytes) / 2);
  while (together > 1 && (tilesN % together != 0 || !dividesEvenly(columns, 2 * together)))
    together /= 2;
  return std::max<int64_t>(together, 1);
}

void ContractionCode::writeRowByRow(Value lane, Value row, Value column, ArrayRef<SmallVector<Value>> sums,
                                    bool wholeRows, bool wholeColumns) {
  // Lane l has row l / 4, and its value v is in column 8 (v / 2) + 2 (l % 4) + v % 2. The exchange transposes the
  // matrix of values and rows: value v then belongs to row v, and its column is that of the original value l / 4.
  Value rowOfLane = quotient(lane, 4);
  constexpr int64_t number = 8;
  SmallVector<SmallVector<Value>> all = llvm::map_to_vector(
      sums, [&](ArrayRef<Value> values) { return transpose(lane, /*distance=*/4, values, /*values=*/1); });
  Value at = elements.add(
      column, elements.add(elements.multiply(quotient(rowOfLane, 2), index(8)),
                           elements.add(elements.multiply(remainder(lane, 4), index(2)), remainder(rowOfLane, 2))));
  Value rows = extentOf(contraction.rows), columns = extentOf(contraction.columns);
  for (int64_t value = 0; value < number; ++value) {
    Value here = elements.add(row, index(value)), inside;
    if (!wholeRows)
      inside = isLess(here, rows);
    if (!wholeColumns)
      inside = both(inside, isLess(at, columns));
    SmallVector<Value> stored = llvm::map_to_vector(all, [&](ArrayRef<Value> values) { return values[size_t(value)]; });
    when(inside, [&] { write(here, at, stored); });
  }
}

SmallVector<Value> ContractionCode::transpose(Value lane, int64_t distance, ArrayRef<Value> sums, size_t values) {
  SmallVector<Value> all(sums);
  const size_t items = sums.size() / values;
  // For each bit of the lane's number, a lane exchanges half of its items with the lane whose number differs in this
  // bit.
  for (size_t bit = 1; bit < items; bit *= 2) {
    const int64_t apart = distance * int64_t(bit);
    Value isHigh =
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, remainder(quotient(lane, apart), 2), index(0));
    auto select = [&](Value yes, Value no) -> Value { return arith::SelectOp::create(builder, loc, isHigh, yes, no); };
    for (size_t item = 0; item < items; ++item) {
      if (item & bit)
        continue;
      for (size_t value = 0; value < values; ++value) {
        Value &low = all[item * values + value], &high = all[(item | bit) * values + value];
        Value got = shuffle(kernel, select(low, high), int32_t(apart));
        low = select(got, low);
        high = select(high, got);
      }
    }
  }
  return all;
}

void ContractionCode::writeFragments(Value lane, Value firstRow, Value firstColumn, const Fragments &fragments,
                                     ArrayRef<Value> sums) {
  if (!contraction.rowSums.empty())
    return writeRows(lane, firstRow, fragments, sums);
  Value rows = extentOf(contraction.rows), columns = extentOf(contraction.columns);
  const int64_t exchanged = fragmentsTogether(fragments.tilesN, columns);
  // Lane l has rows l / 4 and l / 4 + 8 of each 16 x 8 fragment, and columns 2 (l % 4) and 2 (l % 4) + 1. After the
  // exchange, the lane has 2 * `exchanged` columns of one of the `exchanged` fragments.
  Value rowInTile = quotient(lane, 4), inFour = remainder(lane, 4);
  Value columnInTile = elements.add(elements.multiply(remainder(inFour, exchanged), index(8)),
                                    elements.multiply(quotient(inFour, exchanged), index(2 * exchanged)));
  bool wholeRows = dividesEvenly(rows, schedule.m * schedule.cluster);
  bool wholeColumns = dividesEvenly(columns, columnsOfTile(contraction, schedule)),
       evenColumns = dividesEvenly(columns, 2 * exchanged);
  // Four adjacent lanes would store less than a sector of 32 bytes of a row.
  const std::optional<int64_t> bytes = bytesAlongColumns();
  constexpr int64_t fragmentsOfRow = 4, sectorBytes = 32;
  const int64_t perLane = evenColumns ? 2 : 1; // columns of a store
  const bool alongColumns = llvm::all_of(
      contraction.results, [&](const auto &of) { return of.empty() || of.back() == contraction.columns.back(); });
  const bool rowByRow = bytes && alongColumns && exchanged == 1 && fragments.tilesN % fragmentsOfRow == 0 &&
                        4 * perLane * *bytes < sectorBytes;
  auto sumsOf = [&](int64_t product, int64_t i, int64_t half, int64_t j, int64_t number) {
    const int64_t line = (i * contraction.numProducts() + product) * fragments.tilesN;
    SmallVector<Value> all;
    for (int64_t fragment = j; fragment < j + number; ++fragment)
      llvm::append_range(all, sums.slice(size_t((line + fragment) * 4 + half * 2), 2));
    return all;
  };
  for (int64_t i = 0; i < fragments.tilesM; ++i)
    for (int64_t half = 0; half < 2; ++half) {
      Value ofFragment = elements.add(firstRow, index(i * fragments.rowStep + half * 8));
      Value row = elements.add(rowOrigin, elements.add(ofFragment, rowInTile));
      for (int64_t j = 0; rowByRow && j < fragments.tilesN; j += fragmentsOfRow) {
        SmallVector<SmallVector<Value>> mine;
        for (int64_t product = 0; product < contraction.numProducts(); ++product)
          mine.push_back(sumsOf(product, i, half, j, fragmentsOfRow));
        writeRowByRow(lane, elements.add(rowOrigin, ofFragment),
                      elements.add(columnOrigin, elements.add(firstColumn, index(j * 8))), mine, wholeRows,
                      wholeColumns);
      }
      for (int64_t j = 0; !rowByRow && j < fragments.tilesN; j += exchanged) {
        Value column = elements.add(columnOrigin, elements.add(firstColumn, elements.add(index(j * 8), columnInTile)));
        SmallVector<SmallVector<Value>> mine; // for each product
        for (int64_t product = 0; product < contraction.numProducts(); ++product)
          mine.push_back(exchange(lane, sumsOf(product, i, half, j, exchanged)));
        // The columns of one store must be either all inside or all outside of C. If this is unknown, each column is
        // stored separately.
        const int64_t together = wholeColumns || evenColumns ? 2 * exchanged : 1;
        for (int64_t first = 0; first < 2 * exchanged; first += together) {
          Value at = elements.add(column, index(first)), inside;
          if (!wholeRows)
            inside = isLess(row, rows);
          if (!wholeColumns)
            inside = both(inside, isLess(at, columns));
          if (together > 1)
            elements.assumeMultiple(at, together);
          SmallVector<Value> stored;
          for (ArrayRef<Value> all : mine)
            llvm::append_range(stored, all.slice(size_t(first), size_t(together)));
          when(inside, [&] { write(row, at, stored); });
        }
      }
    }
}

} // namespace tilewright::gpu
