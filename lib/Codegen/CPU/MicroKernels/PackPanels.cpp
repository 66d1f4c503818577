//===- PackPanels.cpp - tw_tile.pack as vector code ----------------------------------===//
#include "lib/Codegen/CPU/MicroKernels/PackPanels.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tilewright::cpu {
namespace {

class PanelPacker {
public:
  PanelPacker(tile::PackOp pack, int64_t lanes)
      : builder(pack), loc(pack.getLoc()), in(pack.getInputs()[0]), out(pack.getOutputs()[0]),
        permutation(pack.getPermutation()), group(pack.getGroup()), panel(pack.getPanel()), inner(pack.getInner()),
        lanes(lanes), element(typeOf(in).getElementType()) {
    canonical = permutation.size();
    batches = canonical - 2 - inner;
    outRank = typeOf(out).getRank();
    depth = size(in, permutation[canonical - 2]);
    columns = size(in, permutation[canonical - 1]);
    depthOuter = size(out, outRank - 2);
  }

  void run() {
    SmallVector<Value> extents;
    for (int64_t dim = 0; dim < batches + 1 + inner; ++dim)
      extents.push_back(size(out, dim));
    SmallVector<Value> ivs;
    unitType = builder.getIntegerType(group * element.getIntOrFloatBitWidth());
    bool whole = (unitType.getWidth() == 32 || unitType.getWidth() == 16) && panel % lanes == 0;
    nest(extents, ivs, [&] {
      bool one = getConstantIntValue(extents[batches]) == 1;
      firstColumn = one ? constant(0) : arith::MulIOp::create(builder, loc, ivs[batches], constant(panel)).getResult();
      if (isContiguous(permutation[canonical - 1]) && panel % lanes == 0)
        rowsOfColumns(ivs);
      else if (isContiguous(permutation[canonical - 2]) && whole)
        squares(ivs);
      else
        loop(constant(0), depthOuter, 1, [&](Value k) { scalarRow(ivs, k); });
    });
  }

private:
  static MemRefType typeOf(Value value) { return cast<MemRefType>(value.getType()); }
  Value constant(int64_t value) { return arith::ConstantIndexOp::create(builder, loc, value); }
  Value size(Value value, int64_t dim) {
    return getValueOrCreateConstantIndexOp(builder, loc, memref::getMixedSize(builder, loc, value, dim));
  }
  Value add(Value a, int64_t b) { return b == 0 ? a : builder.createOrFold<arith::AddIOp>(loc, a, constant(b)); }
  Value times(Value a, int64_t b) {
    return b == 1 ? a : arith::MulIOp::create(builder, loc, a, constant(b)).getResult();
  }
  Value zero(Type type) { return arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type)); }

  bool isContiguous(int64_t dim) {
    SmallVector<int64_t> strides;
    int64_t offset;
    return succeeded(typeOf(in).getStridesAndOffset(strides, offset)) && strides[dim] == 1;
  }

  /// Returns true if all sizes are known and the panels have no padding, that is, each element of the panels is an
  /// element of the input.
  bool nothingMissing() {
    std::optional<int64_t> k = getConstantIntValue(depth), n = getConstantIntValue(columns),
                           rows = getConstantIntValue(depthOuter);
    return k && n && rows && *k == *rows * group && *n % panel == 0;
  }

  void loop(Value from, Value to, int64_t step, function_ref<void(Value)> body) {
    auto made = scf::ForOp::create(builder, loc, from, to, constant(step));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(made.getBody());
    body(made.getInductionVar());
  }
  void nest(ArrayRef<Value> extents, SmallVector<Value> &ivs, function_ref<void()> body) {
    if (ivs.size() == extents.size())
      return body();
    loop(constant(0), extents[ivs.size()], 1, [&](Value iv) {
      ivs.push_back(iv);
      nest(extents, ivs, body);
      ivs.pop_back();
    });
  }

  /// Returns the indices of the input's element (k, column).
  SmallVector<Value> inAt(ArrayRef<Value> ivs, Value k, Value column) {
    SmallVector<Value> at(canonical);
    for (int64_t dim = 0; dim < batches; ++dim)
      at[permutation[dim]] = ivs[dim];
    for (int64_t dim = 0; dim < inner; ++dim)
      at[permutation[batches + dim]] = ivs[batches + 1 + dim];
    at[permutation[canonical - 2]] = k;
    at[permutation[canonical - 1]] = column;
    return at;
  }
  SmallVector<Value> outAt(ArrayRef<Value> ivs, Value k, Value column) {
    SmallVector<Value> at(ivs);
    at.append({k, column});
    return at;
  }

  /// Loads `count` elements from `at` on. If `whole` is false, only the first validOf() elements are loaded, by a
  /// masked load, and the others are zero.
  Value loadMasked(ArrayRef<Value> at, int64_t count, bool whole, function_ref<Value()> validOf) {
    VectorType type = VectorType::get({count}, element);
    if (whole)
      return vector::LoadOp::create(builder, loc, type, in, at);
    Value valid = validOf();
    Value mask =
        vector::CreateMaskOp::create(builder, loc, VectorType::get({count}, builder.getI1Type()), ValueRange{valid});
    return vector::MaskedLoadOp::create(builder, loc, type, in, at, mask, zero(type));
  }

  /// Packs an input whose rows are contiguous: loads a vector of adjacent columns from each of `group` rows, and
  /// interleaves these vectors.
  void rowsOfColumns(ArrayRef<Value> ivs) {
    loop(constant(0), depthOuter, 1, [&](Value k) {
      for (int64_t j = 0; j < panel; j += lanes) {
        Value column = add(firstColumn, j);
        SmallVector<Value> rows;
        for (int64_t g = 0; g < group; ++g) {
          Value row = add(times(k, group), g);
          rows.push_back(loadMasked(inAt(ivs, row, column), lanes, nothingMissing(), [&]() -> Value {
            Value left = arith::SubIOp::create(builder, loc, columns, column);
            Value inside = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, row, depth);
            return arith::SelectOp::create(builder, loc, inside, left, constant(0));
          }));
        }
        auto interleaved = [&](Value a, Value b) -> Value { return vector::InterleaveOp::create(builder, loc, a, b); };
        Value moved = group == 1   ? rows[0]
                      : group == 2 ? interleaved(rows[0], rows[1])
                                   : interleaved(interleaved(rows[0], rows[2]), interleaved(rows[1], rows[3]));
        vector::StoreOp::create(builder, loc, moved, out, outAt(ivs, k, constant(j * group)));
      }
    });
  }

  /// Packs an input that is contiguous along k. A unit is `group` elements that are consecutive along k. Blocks of
  /// `lanes` columns by `lanes` units are transposed in registers. Columns after the last column of the input are zero.
  /// A column possibly does not exist, in one of several panels or because the number of columns is unknown. Such a
  /// column is loaded with a mask, which is empty if the column does not exist. The address is then that of the last
  /// column, because a masked load from an unmapped page is slow even if its mask is empty.
  void squares(ArrayRef<Value> ivs) {
    AffineExpr d0 = builder.getAffineDimExpr(0);
    Value whole = getValueOrCreateConstantIndexOp(
        builder, loc,
        affine::makeComposedFoldedAffineApply(builder, loc, AffineMap::get(1, 0, d0 - d0 % lanes),
                                              {OpFoldResult(depthOuter)}));
    for (int64_t j = 0; j < panel; j += lanes)
      loop(constant(0), whole, lanes, [&](Value k) { square(ivs, j, k, lanes); });
    std::optional<int64_t> known = getConstantIntValue(depthOuter);
    if (known && *known % lanes == 0)
      return;
    if (!known)
      return loop(whole, depthOuter, 1, [&](Value k) { scalarRow(ivs, k); });
    for (int64_t j = 0; j < panel; j += lanes)
      square(ivs, j, whole, *known % lanes);
  }

  /// Packs a square: `lanes` columns, starting at column `j` of the panel, by `count` units of k.
  void square(ArrayRef<Value> ivs, int64_t j, Value k, int64_t count) {
    Value element0 = times(k, group);
    bool whole = nothingMissing() && count == lanes;
    SmallVector<Value> rows;
    for (int64_t lane = 0; lane < lanes; ++lane) {
      Value column = add(firstColumn, j + lane);
      Value there = builder.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, column, columns);
      if (isConstantIntValue(there, 0)) {
        rows.push_back(zero(VectorType::get({lanes}, group == 1 ? element : unitType)));
        continue;
      }
      bool certain = nothingMissing() || getConstantIntValue(there);
      Value near = certain ? column : arith::MinSIOp::create(builder, loc, column, add(columns, -1)).getResult();
      auto valid = [&]() -> Value {
        Value left = builder.createOrFold<arith::SubIOp>(loc, depth, element0);
        return certain ? left : arith::SelectOp::create(builder, loc, there, left, constant(0)).getResult();
      };
      Value row = loadMasked(inAt(ivs, element0, near), lanes * group, whole, valid);
      rows.push_back(group == 1 ? row
                                : vector::BitCastOp::create(builder, loc, VectorType::get({lanes}, unitType), row));
    }
    transposeSquare(builder, loc, rows);
    for (int64_t lane = 0; lane < count; ++lane) {
      Value row = rows[lane];
      if (group != 1)
        row = vector::BitCastOp::create(builder, loc, VectorType::get({lanes * group}, element), row);
      vector::StoreOp::create(builder, loc, row, out, outAt(ivs, add(k, lane), constant(j * group)));
    }
  }

  /// Packs one row of the panel, element by element.
  void scalarRow(ArrayRef<Value> ivs, Value kOuter) {
    loop(constant(0), constant(panel), 1, [&](Value j) {
      Value column = arith::AddIOp::create(builder, loc, firstColumn, j);
      Value inColumns = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, column, columns);
      for (int64_t g = 0; g < group; ++g) {
        Value k = add(times(kOuter, group), g);
        Value inRows = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, k, depth);
        Value inside = arith::AndIOp::create(builder, loc, inRows, inColumns);
        auto branch = scf::IfOp::create(builder, loc, TypeRange{element}, inside, /*withElse=*/true);
        {
          OpBuilder::InsertionGuard guard(builder);
          builder.setInsertionPointToStart(&branch.getThenRegion().front());
          Value value = memref::LoadOp::create(builder, loc, in, inAt(ivs, k, column));
          scf::YieldOp::create(builder, loc, value);
          builder.setInsertionPointToStart(&branch.getElseRegion().front());
          scf::YieldOp::create(builder, loc, zero(element));
        }
        memref::StoreOp::create(builder, loc, branch.getResult(0), out, outAt(ivs, kOuter, add(times(j, group), g)));
      }
    });
  }

  OpBuilder builder;
  Location loc;
  Value in, out;
  ArrayRef<int64_t> permutation;
  int64_t group, panel, inner, lanes, canonical, batches, outRank;
  Type element;
  IntegerType unitType; ///< integer with the bits of `group` elements
  Value depth, columns, depthOuter, firstColumn;
};
} // namespace

void transposeSquare(OpBuilder &builder, Location loc, MutableArrayRef<Value> rows) {
  int64_t count = rows.size();
  for (int64_t s = 1; s < count; s *= 2)
    for (int64_t i = 0; i < count; ++i) {
      if (i & s)
        continue;
      SmallVector<int64_t> low, high;
      for (int64_t lane = 0; lane < count; ++lane) {
        low.push_back(lane & s ? count + lane - s : lane);
        high.push_back(lane & s ? count + lane : lane + s);
      }
      Value a = rows[i], b = rows[i + s];
      rows[i] = vector::ShuffleOp::create(builder, loc, a, b, low);
      rows[i + s] = vector::ShuffleOp::create(builder, loc, a, b, high);
    }
}

void expandPack(tile::PackOp pack, int64_t lanes) {
  PanelPacker(pack, lanes).run();
  pack->erase();
}

} // namespace tilewright::cpu
