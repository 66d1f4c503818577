//===- PortProtocols.cpp - --tw-hls-port-protocols: ports other than host memory -------------===//
//
// Before, with ports="x=stream s=axi_lite":
//   func @model(%x: memref<8x6xf32, dram> {tw_hls.interface = <name = "x", protocol = axi_master, bundle = "gmem0">},
//               %s: memref<f32, dram> ...)
//   func @load_x(%from: memref<8x6xf32, dram>, %to) {
//     for i, j: %v = affine.load %from[%i, %j] ; store %v, %to[%i, %j] }
// After:
//   func @model(%x: !tw_hls.stream<f32, 48> {tw_hls.interface = <name = "x", protocol = stream>}, %s: f32 ...)
//   func @load_x(%from: !tw_hls.stream<f32, 48>, %to) { for i, j: %v = tw_hls.read %from ; store %v, %to[%i, %j] }
//
// A port can become a stream if the only task that accesses it copies it in row-major order, which is the order of a
// stream, with one element per iteration. In one call, a stream transfers all elements of the port's tensor. The depth
// of the stream is the number of these elements, because a test bench writes all of them before the call. An axi_lite
// port is for an input of one element, and is implemented as a register of the control bundle.
//
// Tests: test/Codegen/HLS/port-protocols.mlir, test/Conformance/hls/designs/streams.mlir
//
//===----------------------------------------------------------------------===//
#include "dialects/HLS/HLS.h"
#include "lib/Codegen/HLS/Names.h"
#include "lib/Codegen/HLS/QueueAccess.h"
#include "tilewright/Passes.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace tilewright {
#define GEN_PASS_DEF_HLSPORTPROTOCOLS
#include "tilewright/Passes.h.inc"
} // namespace tilewright

namespace tilewright::hls {
namespace {

class Ports {
public:
  explicit Ports(func::FuncOp top) : top(top), module(top->getParentOfType<ModuleOp>()) {}

  /// Applies one port setting such as "x=stream".
  LogicalResult change(StringRef wanted) {
    auto [name, word] = wanted.split('=');
    std::optional<Protocol> protocol = symbolizeProtocol(word);
    if (!protocol)
      return refuse(name) << "there is no protocol '" << word << "'; supported are axi_master, axi_lite and stream";
    const int64_t number = numberOf(name);
    if (number < 0)
      return emitError(UnknownLoc::get(module.getContext())) << "--port " << wanted << ": there is no port '" << name
                                                             << "'; this design has " << llvm::join(names(), ", ");
    if (*protocol == Protocol::AxiMaster)
      return success();
    BlockArgument port = top.getArgument(number);
    auto type = dyn_cast<MemRefType>(port.getType());
    if (!type)
      return refuse(name) << "its protocol is specified twice";
    auto task = port.use_empty() ? TaskOp() : cast<TaskOp>(*port.user_begin());
    if (!task)
      return refuse(name) << "no task of the design reads it";
    auto function = module.lookupSymbol<func::FuncOp>(task.getCallee());
    const unsigned position = llvm::find(task->getOperands(), port) - task->operand_begin();
    BlockArgument inside = function.getArgument(position);
    const bool isOutput = llvm::is_contained(task.getWrites(), port);
    if (*protocol == Protocol::AxiLite && (type.getNumElements() != 1 || isOutput))
      return refuse(name) << "axi_lite supports only inputs of one element, but this is "
                          << (isOutput ? "an output" : "an input") << " of " << type.getNumElements()
                          << " elements; use stream or axi_master";
    if (!function->hasAttr(moverAttrName) || !inside.hasOneUse())
      return refuse(name) << "its task does more than copy it";
    const Type made = *protocol == Protocol::AxiLite
                          ? type.getElementType()
                          : StreamType::get(module.getContext(), type.getElementType(), type.getNumElements());
    Operation *access = *inside.user_begin();
    if (auto queue = dyn_cast<StreamType>(made)) {
      accessQueue(inside, access, queue);
    } else { // an axi_lite port is a register
      inside.setType(made);
      access->getResult(0).replaceAllUsesWith(inside);
      access->erase();
    }
    port.setType(made);
    for (func::FuncOp each : {function, top})
      each.setType(FunctionType::get(module.getContext(), each.getBody().getArgumentTypes(), {}));
    top.setArgAttr(number, interfaceAttrName,
                   InterfaceAttr::get(module.getContext(), interfaceOf(number).getName(), *protocol, StringAttr()));
    return success();
  }

private:
  InFlightDiagnostic refuse(StringRef name) {
    return emitError(UnknownLoc::get(module.getContext())) << "--port: port '" << name << "': ";
  }

  InterfaceAttr interfaceOf(unsigned number) { return top.getArgAttrOfType<InterfaceAttr>(number, interfaceAttrName); }

  SmallVector<StringRef> names() {
    SmallVector<StringRef> all;
    for (unsigned number = 0; number < top.getNumArguments(); ++number)
      all.push_back(interfaceOf(number).getName());
    return all;
  }

  int64_t numberOf(StringRef name) {
    SmallVector<StringRef> all = names();
    auto found = llvm::find(all, name);
    return found == all.end() ? -1 : found - all.begin();
  }

  func::FuncOp top;
  ModuleOp module;
};

struct HlsPortProtocols : impl::HlsPortProtocolsBase<HlsPortProtocols> {
  using HlsPortProtocolsBase::HlsPortProtocolsBase;

  void runOnOperation() override {
    SmallVector<StringRef> wanted;
    StringRef(ports).split(wanted, ' ', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function->hasAttr(topAttrName))
        for (StringRef one : wanted)
          if (failed(Ports(function).change(one)))
            return signalPassFailure();
  }
};

} // namespace
} // namespace tilewright::hls
