//===- HLS.cpp - the tw_hls dialect: registration, attributes, types --------===//
#include "dialects/HLS/HLS.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

#include "dialects/HLS/HLSDialect.cpp.inc"
#include "dialects/HLS/HLSEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/HLS/HLSAttributes.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/HLS/HLSTypes.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/HLS/HLSOps.cpp.inc"

namespace tilewright::hls {

void HLSDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/HLS/HLSOps.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/HLS/HLSAttributes.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/HLS/HLSTypes.cpp.inc"
      >();
}

bool isIdentifier(StringRef name) {
  return !name.empty() && !llvm::isDigit(name.front()) &&
         llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

MemRefType withMemory(MemRefType type, PartitionAttr banks, Memory memory) {
  MemRefLayoutAttrInterface layout = banks;
  return MemRefType::get(type.getShape(), type.getElementType(), layout, MemoryAttr::get(type.getContext(), memory));
}

PartitionAttr banksOf(MemRefType type) { return dyn_cast<PartitionAttr>(Attribute(type.getLayout())); }

Memory memoryOf(MemRefType type) {
  auto memory = dyn_cast_or_null<MemoryAttr>(type.getMemorySpace());
  return memory ? memory.getValue() : Memory::Bram;
}

//===----------------------------------------------------------------------===//
// #tw_hls.loop, !tw_hls.stream
//===----------------------------------------------------------------------===//

LogicalResult LoopAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringRef label, int64_t ii,
                               int64_t unroll, bool, int64_t distance) {
  if (isIdentifier(label) && ii >= 0 && unroll >= 1 && distance >= 0)
    return success();
  return emitError() << "loop_c0: label '" << label << "', ii = " << ii << ", unroll = " << unroll
                     << "; expected a C identifier, ii >= 0, unroll >= 1 and distance >= 0";
}

LogicalResult StreamType::verify(function_ref<InFlightDiagnostic()> emitError, Type, int64_t depth) {
  if (depth >= 1)
    return success();
  return emitError() << "stream_c1: the depth of a stream is " << depth << "; expected at least 1";
}

//===----------------------------------------------------------------------===//
// #tw_hls.partition
//===----------------------------------------------------------------------===//

AffineMap PartitionAttr::getAffineMap() const {
  return AffineMap::getMultiDimIdentityMap(getKinds().size(), getContext());
}

/// Banks do not change the logical indices of elements, so the layout is an identity map.
bool PartitionAttr::isIdentity() const { return true; }

int64_t PartitionAttr::getBanks(unsigned dim, int64_t size) const {
  return getKinds()[dim] == PartitionKind::Complete ? size : getFactors()[dim];
}

int64_t PartitionAttr::getBanks(ArrayRef<int64_t> shape) const {
  int64_t banks = 1;
  for (auto [dim, size] : llvm::enumerate(shape))
    banks *= getBanks(dim, size);
  return banks;
}

LogicalResult PartitionAttr::verifyLayout(ArrayRef<int64_t> shape, function_ref<InFlightDiagnostic()> emitError) const {
  if (shape.size() != getKinds().size())
    return emitError() << "partition_c1: " << getKinds().size() << " entries for " << shape.size() << " dimensions";
  for (auto [dim, size] : llvm::enumerate(shape))
    if (getFactors()[dim] < 1 || getFactors()[dim] > size)
      return emitError() << "partition_c1: " << getFactors()[dim] << " banks along dimension " << dim << " of size "
                         << size;
  if (int64_t banks = getBanks(shape); banks > mostBanks)
    return emitError() << "partition_c2: " << banks << " banks; vendors' tools split an array into at most "
                       << mostBanks;
  return success();
}

Attribute PartitionAttr::parse(AsmParser &parser, Type) {
  SmallVector<PartitionKind> kinds;
  SmallVector<int64_t> factors;
  auto entry = [&]() -> ParseResult {
    StringRef word;
    SMLoc at = parser.getCurrentLocation();
    if (parser.parseKeyword(&word))
      return failure();
    std::optional<PartitionKind> kind = symbolizePartitionKind(word);
    if (!kind)
      return parser.emitError(at, "expected none, cyclic, block or complete, not '") << word << "'";
    int64_t factor = 1;
    if ((kind == PartitionKind::Cyclic || kind == PartitionKind::Block) && parser.parseInteger(factor))
      return failure();
    kinds.push_back(*kind);
    factors.push_back(factor);
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::OptionalLessGreater, entry))
    return {};
  return get(parser.getContext(), kinds, factors);
}

void PartitionAttr::print(AsmPrinter &printer) const {
  printer << "<";
  llvm::interleaveComma(llvm::zip(getKinds(), getFactors()), printer, [&](auto entry) {
    auto [kind, factor] = entry;
    printer << stringifyPartitionKind(kind);
    if (kind == PartitionKind::Cyclic || kind == PartitionKind::Block)
      printer << " " << factor;
  });
  printer << ">";
}

//===----------------------------------------------------------------------===//
// Names in printed IR
//===----------------------------------------------------------------------===//

void BufferOp::getAsmResultNames(OpAsmSetValueNameFn name) { name(getMemory(), getName()); }
void LockOp::getAsmResultNames(OpAsmSetValueNameFn name) { name(getBlock(), "block"); }
void StreamOp::getAsmResultNames(OpAsmSetValueNameFn name) { name(getQueue(), getName()); }

} // namespace tilewright::hls
