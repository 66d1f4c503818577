//===- OnnxNarrow.cpp - 8-bit floats and elements smaller than a byte -----------------===//
//
// The bit pattern (code) of a narrow float is decoded by a table of all numbers of its type. To encode a number, its
// magnitude is compared with the midpoints between adjacent numbers of the type. The code is the number of midpoints
// that are at most the magnitude. A midpoint must be rounded to the even code. If the even code is the lower one, the
// table has the next float after the midpoint instead.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/ONNX/OnnxNarrow.h"
#include <cmath>

namespace tilewright {
namespace {

using T = onnx::ElementType;

const llvm::fltSemantics *semanticsOf(T type) {
  switch (type) {
  case T::F8E4M3FN:
    return &llvm::APFloat::Float8E4M3FN();
  case T::F8E4M3FNUZ:
    return &llvm::APFloat::Float8E4M3FNUZ();
  case T::F8E5M2:
    return &llvm::APFloat::Float8E5M2();
  case T::F8E5M2FNUZ:
    return &llvm::APFloat::Float8E5M2FNUZ();
  case T::F8E8M0:
    return &llvm::APFloat::Float8E8M0FNU();
  case T::F4E2M1:
    return &llvm::APFloat::Float4E2M1FN();
  default:
    return nullptr;
  }
}

double numberOf(const llvm::fltSemantics &semantics, unsigned bits, uint64_t code) {
  llvm::APFloat value(semantics, llvm::APInt(bits, code));
  bool inexact;
  value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &inexact);
  return value.convertToDouble();
}

} // namespace

bool isNarrow(T type) { return semanticsOf(type) || type == T::I4 || type == T::U4 || type == T::I2 || type == T::U2; }

ScalarType storageOf(T narrow) { return narrow == T::I4 || narrow == T::I2 ? ScalarType::I8 : ScalarType::U8; }

std::optional<std::pair<int64_t, int64_t>> narrowRange(T type) {
  switch (type) {
  case T::I4:
    return {{-8, 7}};
  case T::U4:
    return {{0, 15}};
  case T::I2:
    return {{-2, 1}};
  case T::U2:
    return {{0, 3}};
  default:
    return std::nullopt;
  }
}

std::vector<uint8_t> narrowBytes(const onnx::Tensor &tensor) {
  unsigned bits = onnx::elementBits(tensor.type), each = 8 / bits, mask = (1u << bits) - 1;
  std::vector<uint8_t> bytes(tensor.count());
  bool isSigned = storageOf(tensor.type) == ScalarType::I8;
  for (size_t i = 0; i < bytes.size(); ++i) {
    unsigned code = (uint8_t(tensor.bytes[i / each]) >> (i % each * bits)) & mask;
    bytes[i] = isSigned && code >> (bits - 1) ? code | ~mask : code;
  }
  return bytes;
}

Value narrowToNumbers(OnnxNode &n, Value bytes, T type) {
  const llvm::fltSemantics *semantics = semanticsOf(type);
  if (!semantics)
    return n.convert(bytes, n.f32());
  unsigned bits = onnx::elementBits(type);
  SmallVector<double> table;
  for (unsigned code = 0; code < (1u << bits); ++code)
    table.push_back(numberOf(*semantics, bits, code));
  return n.take(n.vector(table, n.f32()), n.convert(bytes, n.i64()), 0);
}

Value numbersToNarrow(OnnxNode &n, Value numbers, T type, bool saturate) {
  Type i32 = n.builder.getI32Type(), storage = elementTypeOf(storageOf(type), &n.importer.context);
  if (auto range = narrowRange(type)) { // integers that are out of the range of the narrow type wrap around
    unsigned bits = onnx::elementBits(type);
    Value integer = n.convert(numbers, i32);
    Value low = n.op<BitwiseAndOp>({integer, n.scalarInt((1 << bits) - 1, i32)});
    if (range->first < 0)
      low = n.where(n.compare<GtOp>(low, n.scalarInt(range->second, i32)), n.op<SubOp>(low, double(1 << bits)), low);
    return n.convert(low, storage);
  }
  const llvm::fltSemantics *semantics = semanticsOf(type);
  if (!n.demand(type != T::F8E8M0, "rounding to float8_e8m0fnu is not supported"))
    return numbers;
  unsigned bits = onnx::elementBits(type), sign = 1u << (bits - 1);
  bool unsignedZero = type == T::F8E4M3FNUZ || type == T::F8E5M2FNUZ, four = type == T::F4E2M1;
  SmallVector<double> finite;
  for (unsigned code = 0; code < sign; ++code)
    if (double number = numberOf(*semantics, bits, code); std::isfinite(number))
      finite.push_back(number);
  double most = finite.back();
  unsigned largest = finite.size() - 1;
  SmallVector<double> middles;
  for (unsigned code = 1; code <= largest + 1; ++code) {
    double next = code <= largest ? finite[code] : 2 * most - finite[largest - 1];
    float middle = float((finite[code - 1] + next) / 2);
    middles.push_back(code % 2 == 0 ? middle : std::nextafterf(middle, INFINITY));
  }
  Value x = n.cast(numbers, n.f32()), zero = n.scalar(0, n.f32());
  Value nan = n.op<IsnanOp>({x}, n.i1()), magnitude = n.op<AbsOp>({x});
  if (saturate || four)
    magnitude = n.op<MinimumOp>(magnitude, most);
  Value exceeds = n.compare<GeOp>(n.unsqueeze(magnitude, n.rankOf(magnitude)), n.vector(middles, n.f32()));
  Value code = n.reduce(ReduceKind::Sum, n.cast(exceeds, i32), {n.rankOf(x)}, false);
  Value negative = n.op<LogicalOrOp>(
      {n.compare<LtOp>(x, zero),
       n.op<LogicalAndOp>({n.compare<EqOp>(x, zero), n.compare<LtOp>(n.op<ReciprocalOp>({x}), zero)}, n.i1())},
      n.i1());
  if (unsignedZero) // the type has no -0; that code is NaN
    negative = n.op<LogicalAndOp>({negative, n.compare<GtOp>(code, n.scalarInt(0, i32))}, n.i1());
  Value signedCode = n.where(negative, n.op<AddOp>(code, double(sign)), code);
  // 4-bit floats have no NaN. As in the Python package onnx, NaN becomes -0.
  unsigned notANumber = unsignedZero || four ? sign : largest + (type == T::F8E5M2 ? 2 : 1);
  if (unsignedZero && !saturate)
    signedCode = n.where(n.compare<GtOp>(code, n.scalarInt(largest, i32)), n.scalarInt(sign, i32), signedCode);
  return n.convert(n.where(nan, n.scalarInt(notANumber, i32), signedCode), storage);
}

} // namespace tilewright
