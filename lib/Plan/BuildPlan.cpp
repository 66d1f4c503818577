//===- BuildPlan.cpp - convert @main to the runtime's program ----------------------===//
//
// Before:
//   func @main(%x: tensor<128x768xf32>, %w: tensor<768x768xf32> {tw.static}) {
//     %e = tensor.empty ; %p = call @pack_0(%w, %e) {tw.once} ; %f = tensor.empty ; %r = call @kernel_0(%x, %p, %f)
//     return %r }
// After:
//   tw_plan.program @main_plan [] in [] to [] {
//     tw_plan.buffer 0 input 0 ... ; 1 input 1 ; 2 packed 0 ; 3 output 0
//     tw_plan.launch once @pack_0 [1, 2] ... ; tw_plan.launch @kernel_0 [0, 2, 3] ... }
//
// A reshape has the same buffer as its operand, because all tensors between kernels are dense. A dense slice that
// kernels read has the buffer of its source and a byte offset (`at`). Results that no kernel computes in place (a
// returned argument, a value that is returned twice) are copied. If a result must be written into an argument
// (tw.into), the kernel that computes the result writes directly into the argument under three conditions: the result
// has no other buffer (as another result or as a packed operand), no later op reads the argument, and the kernel reads
// no element of the argument after it has written this element (tw.over, lib/Kernels/MarkInPlace.cpp). Otherwise the
// result is copied to the argument at the end.
//
// Tests: test/Plan/build-plan.mlir, test/Plan/build-plan-in-place.mlir
//
// --tw-finish-plan:
// Before:
//   tw_plan.launch @kernel [0, 1] writes 2 sizes affine_map<()[s0, s1] -> (s1 * 2)>
//   func @kernel(index) attributes {tw.grid = affine_map<()[s0] -> (s0 ceildiv 16)>, ...}
// After:
//   tw_plan.launch @kernel [0, 1] ... grid affine_map<()[s0, s1] -> ((s1 * 2) ceildiv 16)> scratch ...
//
// The grid, the size of the scratch memory and the number of operations (tw.flops) of a kernel are functions of the
// kernel's index arguments. For each launch, the pass replaces these arguments by expressions over the symbols of the
// program, and sets the resulting functions on the launch. It also copies the kernel's schedule and the attributes of
// its checks to the launch. If a kernel is compiled only for a range of the product of its sizes, the grid of its
// launch is 0 for calls outside of this range, so that the runtime skips the launch.
//
// Test: test/Plan/finish-plan.mlir
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/Graph.h"
#include "dialects/Tile/CopyReason.h"
#include "dialects/Tile/Sizes.h"
#include "dialects/Tile/Views.h"
#include "tilewright/AttributeNames.h"
#include "tilewright/Passes.h"

using namespace mlir;

namespace tilewright {
#define GEN_PASS_DEF_BUILDPLAN
#define GEN_PASS_DEF_FINISHPLAN
#include "tilewright/Passes.h.inc"
namespace {

class PlanBuilder {
public:
  PlanBuilder(ModuleOp module, func::FuncOp main) : main(main), builder(module.getContext()) {
    builder.setInsertionPointToEnd(module.getBody());
  }

  LogicalResult run() {
    SmallVector<Attribute> names;
    SmallVector<int64_t> mins, maxs;
    for (const graph::SymbolicSize &symbol : graph::symbolicSizesOf(main)) {
      names.push_back(builder.getStringAttr(symbol.name));
      mins.push_back(symbol.min);
      maxs.push_back(symbol.max);
    }
    symbols = names.size();
    auto program =
        plan::ProgramOp::create(builder, main.getLoc(), "main_plan", builder.getArrayAttr(names), mins, maxs);
    builder.createBlock(&program.getBody());
    addGuards();
    int64_t inputs = 0, outputs = 0;
    for (BlockArgument argument : main.getArguments())
      if (isa<RankedTensorType>(argument.getType()))
        if (failed(define(argument, plan::BufferKind::Input, inputs++)))
          return failure();
    // Find the call that computes each output in place. If a value is returned several times, only the first output is
    // computed in place.
    auto terminator = cast<func::ReturnOp>(main.getBody().front().getTerminator());
    SmallVector<std::pair<Value, int64_t>> copies, writes;
    for (auto [position, returned] : llvm::enumerate(terminator.getOperands())) {
      Value source = sourceOfViews(returned);
      if (auto into = main.getResultAttrOfType<IntegerAttr>(position, graph::intoAttrName)) {
        const int64_t tensors = llvm::count_if(main.getArgumentTypes(), llvm::IsaPred<RankedTensorType>);
        if (into.getInt() < 0 || into.getInt() >= tensors)
          return main.emitError("result ")
                 << position << " is written into tensor argument " << into.getInt() << " of " << tensors;
        writes.push_back({returned, into.getInt()});
        continue;
      }
      int64_t number = outputs++;
      if (source.getDefiningOp<func::CallOp>() && !outputOf.contains(source))
        outputOf[source] = number;
      else
        copies.push_back({returned, number});
    }
    computeLate(writes);
    for (auto [returned, input] : writes)
      inPlace(returned, input);
    for (Operation &op : main.getBody().front()) {
      if (auto call = dyn_cast<func::CallOp>(op)) {
        if (failed(launch(call)))
          return failure();
      } else if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
        if (isa<RankedTensorType>(constant.getType()) && failed(defineConstant(constant)))
          return failure();
      } else if (!tile::isViewOfAll(&op) && !isDenseSlice(&op) &&
                 !isa<tensor::EmptyOp, affine::AffineApplyOp, func::ReturnOp>(op)) {
        return op.emitOpError("remains between kernels; a plan contains only launches, views and constants");
      }
    }
    for (auto [value, number] : copies) {
      FailureOr<int64_t> from = bufferOf(value);
      if (failed(from))
        return failure();
      FailureOr<AffineMap> size = bytes(value);
      if (failed(size))
        return failure();
      int64_t to = addBuffer(plan::BufferKind::Output, number, *size, value.getLoc());
      plan::CopyOp::create(builder,
                           tile::withCopyReason(value.getLoc(), "a result of the call is also an input, a constant or "
                                                                "another result, and each result has separate memory"),
                           *from, to, *size);
    }
    if (failed(copyInto(writes)))
      return failure();
    // Move the buffer ops to the beginning of the program.
    Block &block = program.getBody().front();
    Operation *anchor = nullptr;
    for (Operation &op : llvm::make_early_inc_range(block))
      if (isa<plan::BufferOp>(op)) {
        if (anchor)
          op.moveAfter(anchor);
        else
          op.moveBefore(&block, block.begin());
        anchor = &op;
      }
    main.erase();
    return success();
  }

private:
  static bool isDenseSlice(Operation *op) {
    auto slice = dyn_cast<tensor::ExtractSliceOp>(op);
    return slice && tile::denseSliceOffset(slice);
  }

  /// Returns the tensor whose buffer contains an operand, and the operand's byte offset in it.
  static std::pair<Value, int64_t> bufferAndOffset(Value value) {
    int64_t bytes = 0;
    while (Operation *op = value.getDefiningOp()) {
      if (isDenseSlice(op))
        bytes += *tile::denseSliceOffset(cast<tensor::ExtractSliceOp>(op)) *
                 std::max<int64_t>(1, llvm::divideCeil(cast<ShapedType>(value.getType()).getElementTypeBitWidth(), 8));
      else if (!tile::isViewOfAll(op))
        break;
      value = op->getOperand(0);
    }
    return {value, bytes};
  }

  void addGuards() {
    if (auto guards = main->getAttrOfType<ArrayAttr>(graph::guardsAttrName))
      for (auto guard : guards.getAsRange<DictionaryAttr>())
        plan::GuardOp::create(builder, main.getLoc(), guard.getAs<UnitAttr>("at_least"),
                              guard.getAs<AffineMapAttr>("sizes"), guard.getAs<StringAttr>("text"));
  }

  static Value sourceOfViews(Value value) {
    while (Operation *op = value.getDefiningOp()) {
      if (!tile::isViewOfAll(op))
        break;
      value = op->getOperand(0);
    }
    return value;
  }

  /// Returns the tensor argument with index `number`.
  BlockArgument inputArgument(int64_t number) {
    auto isTensor = [](BlockArgument argument) { return isa<RankedTensorType>(argument.getType()); };
    return *std::next(llvm::make_filter_range(main.getArguments(), isTensor).begin(), number);
  }

  /// Collects the calls that read `value` or a view of it. Returns false if another op reads it.
  static bool readersOf(Value value, llvm::SmallSetVector<Operation *, 4> &readers) {
    for (Operation *user : value.getUsers()) {
      if (isa<func::CallOp>(user))
        readers.insert(user);
      else if (!(tile::isViewOfAll(user) || isDenseSlice(user)) || !readersOf(user->getResult(0), readers))
        return false;
    }
    return true;
  }

  /// Moves calls that compute the new contents of arguments to the end, after the consumers of these arguments, if the
  /// results of the calls are only returned.
  void computeLate(ArrayRef<std::pair<Value, int64_t>> writes) {
    llvm::SmallSetVector<Operation *, 4> producers;
    for (auto [returned, input] : writes)
      if (auto call = returned.getDefiningOp<func::CallOp>())
        if (llvm::all_of(call->getUsers(), [](Operation *user) { return isa<func::ReturnOp>(user); }))
          producers.insert(call);
    SmallVector<Operation *> inOrder = llvm::to_vector(producers);
    llvm::sort(inOrder, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
    for (Operation *producer : inOrder)
      producer->moveBefore(main.getBody().front().getTerminator());
  }

  /// Lets the kernel that computes `returned` write it directly into tensor argument number `input` of @main. All other
  /// kernels that read the argument must run earlier. If this kernel reads the argument, too, the attribute
  /// overAttrName of its result must permit this.
  void inPlace(Value returned, int64_t input) {
    Value source = sourceOfViews(returned);
    BlockArgument argument = inputArgument(input);
    auto call = source.getDefiningOp<func::CallOp>();
    llvm::SmallSetVector<Operation *, 4> readers;
    if (!call || outputOf.contains(source) || inputOf.contains(source) || call->hasAttr(onceAttrName) ||
        !readersOf(argument, readers))
      return;
    unsigned destination = call.getNumOperands() - call.getNumResults() + cast<OpResult>(source).getResultNumber();
    for (Operation *reader : readers) {
      if (reader != call && !reader->isBeforeInBlock(call))
        return;
      if (reader != call)
        continue;
      auto kernel = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(call, call.getCalleeAttr());
      auto over = kernel ? kernel.getArgAttrOfType<DenseI64ArrayAttr>(destination, overAttrName) : DenseI64ArrayAttr();
      for (auto [position, operand] : llvm::enumerate(call.getOperands()))
        if (bufferAndOffset(operand).first == argument &&
            (sourceOfViews(operand) != argument || !over || !llvm::is_contained(over.asArrayRef(), position)))
          return;
    }
    inputOf[source] = argument;
  }

  /// Copies results that no kernel has written in place. If the source is an argument, which another copy may
  /// overwrite, it is first copied to separate memory.
  LogicalResult copyInto(ArrayRef<std::pair<Value, int64_t>> writes) {
    SmallVector<std::tuple<Value, int64_t, AffineMap, int64_t>> late;
    for (auto [value, input] : writes) {
      BlockArgument argument = inputArgument(input);
      Value source = sourceOfViews(value);
      if (source == argument)
        continue;
      bufferOps[bufferByValue[argument]].setInPlace(true);
      if (inputOf.lookup(source) == argument)
        continue;
      FailureOr<int64_t> from = bufferOf(value);
      FailureOr<AffineMap> size = bytes(value);
      if (failed(from) || failed(size))
        return failure();
      if (isa<BlockArgument>(source)) {
        int64_t own = addBuffer(plan::BufferKind::Arena, arena++, *size, value.getLoc());
        plan::CopyOp::create(
            builder,
            tile::withCopyReason(value.getLoc(),
                                 "an input is written into another input, and may itself be written before"),
            *from, own, *size);
        from = own;
      }
      late.push_back({value, *from, *size, bufferByValue[argument]});
    }
    for (auto &[value, from, size, to] : late)
      plan::CopyOp::create(
          builder,
          tile::withCopyReason(value.getLoc(), "a result is written into an input, and its kernel cannot write there"),
          from, to, size);
    return success();
  }

  FailureOr<AffineMap> bytes(Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    AffineExpr total =
        builder.getAffineConstantExpr(std::max<int64_t>(1, llvm::divideCeil(type.getElementTypeBitWidth(), 8)));
    SmallVector<AffineExpr> sizes = tile::sizesOf(value);
    if (static_cast<int64_t>(sizes.size()) != type.getRank()) {
      emitError(value.getLoc()) << "the sizes of " << type << " cannot be computed from the symbolic sizes";
      return failure();
    }
    for (AffineExpr size : sizes)
      total = total * size;
    return AffineMap::get(0, symbols, total);
  }

  int64_t addBuffer(plan::BufferKind kind, int64_t index, AffineMap size, Location loc, ElementsAttr value = {}) {
    bufferOps.push_back(plan::BufferOp::create(builder, loc, builder.getI64IntegerAttr(buffers),
                                               plan::BufferKindAttr::get(builder.getContext(), kind),
                                               builder.getI64IntegerAttr(index), AffineMapAttr::get(size), value));
    return buffers++;
  }

  LogicalResult define(Value value, plan::BufferKind kind, int64_t index) {
    FailureOr<AffineMap> size = bytes(value);
    if (failed(size))
      return failure();
    bufferByValue[value] = addBuffer(kind, index, *size, value.getLoc());
    return success();
  }

  LogicalResult defineConstant(arith::ConstantOp constant) {
    FailureOr<AffineMap> size = bytes(constant);
    if (failed(size))
      return failure();
    bufferByValue[constant] = addBuffer(plan::BufferKind::Constant, constants++, *size, constant.getLoc(),
                                        cast<ElementsAttr>(constant.getValue()));
    return success();
  }

  FailureOr<int64_t> bufferOf(Value value) {
    auto found = bufferByValue.find(sourceOfViews(value));
    if (found == bufferByValue.end()) {
      emitError(value.getLoc()) << "a value of type " << value.getType() << " has no buffer";
      return failure();
    }
    return found->second;
  }

  LogicalResult launch(func::CallOp call) {
    bool once = call->hasAttr(onceAttrName);
    SmallVector<AffineExpr> sizes;
    SmallVector<int64_t> operands, starts;
    unsigned results = call.getNumResults(), inputs = call.getNumOperands() - results;
    for (Value operand : call.getOperands().take_front(inputs)) {
      if (isa<IndexType>(operand.getType())) {
        AffineExpr expr = tile::exprOf(operand);
        if (!expr)
          return call.emitOpError("has an index argument that cannot be computed from the symbolic sizes");
        sizes.push_back(expr);
        continue;
      }
      auto [whole, start] = bufferAndOffset(operand);
      FailureOr<int64_t> buffer = bufferOf(whole);
      if (failed(buffer))
        return failure();
      operands.push_back(*buffer);
      starts.push_back(start);
    }
    uint64_t writes = 0;
    for (Value result : call.getResults()) {
      auto output = outputOf.find(result);
      if (BlockArgument argument = inputOf.lookup(result))
        bufferByValue[result] = bufferByValue[argument];
      else if (failed(output != outputOf.end()
                          ? define(result, plan::BufferKind::Output, output->second)
                          : define(result, once ? plan::BufferKind::Packed : plan::BufferKind::Arena,
                                   once ? packed++ : arena++)))
        return failure();
      if (operands.size() < 64) // the plan assumes that operands from index 64 on are written
        writes |= uint64_t(1) << operands.size();
      operands.push_back(bufferByValue[result]);
    }
    DenseI64ArrayAttr startsAttr;
    if (llvm::any_of(starts, [](int64_t start) { return start != 0; })) {
      starts.resize(operands.size(), 0); // the offset of a result in its buffer is 0
      startsAttr = builder.getDenseI64ArrayAttr(starts);
    }
    auto make = [&](StringRef kernel) {
      auto made = plan::LaunchOp::create(builder, call.getLoc(), kernel, operands, writes,
                                         AffineMap::get(0, symbols, sizes, builder.getContext()), AffineMapAttr(),
                                         AffineMapAttr(), once, startsAttr);
      if (Attribute ops = call->getAttr(opsAttrName))
        made->setAttr(opsAttrName, ops);
    };
    make(call.getCallee());
    if (auto others = call->getAttrOfType<ArrayAttr>(otherSizesAttrName))
      for (auto kernel : others.getAsRange<FlatSymbolRefAttr>())
        make(kernel.getValue());
    return success();
  }

  func::FuncOp main;
  OpBuilder builder;
  unsigned symbols = 0;
  int64_t buffers = 0, arena = 0, packed = 0, constants = 0;
  llvm::DenseMap<Value, int64_t> bufferByValue, outputOf;
  llvm::DenseMap<Value, BlockArgument> inputOf; ///< results that overwrite arguments
  SmallVector<plan::BufferOp> bufferOps;
};

struct BuildPlan : impl::BuildPlanBase<BuildPlan> {
  void runOnOperation() override {
    auto main = getOperation().lookupSymbol<func::FuncOp>("main");
    if (main && failed(PlanBuilder(getOperation(), main).run()))
      signalPassFailure();
  }
};

struct FinishPlan : impl::FinishPlanBase<FinishPlan> {
  /// Returns the grid of `launch` if the product of its sizes is at least `least` and at most `most` (-1: unlimited),
  /// otherwise 0, so that the runtime skips the launch.
  static AffineMapAttr onlyBetween(plan::LaunchOp launch, int64_t least, int64_t most) {
    MLIRContext *context = launch.getContext();
    AffineExpr one = getAffineConstantExpr(1, context), product = one;
    for (AffineExpr size : launch.getSizes().getResults())
      product = product * size;
    // Returns an affine expression whose value is 1 if product <= bound, otherwise 0. The expression is correct because
    // no tensor has as many as `huge` elements.
    auto upTo = [&](int64_t bound) {
      constexpr int64_t huge = int64_t(1) << 50;
      return (getAffineConstantExpr(huge, context) - product.floorDiv(bound + 1)).floorDiv(huge);
    };
    AffineExpr grid = launch.getGridAttr().getValue().getResult(0);
    if (least > 0)
      grid = grid * (one - upTo(least - 1));
    if (most >= 0)
      grid = grid * upTo(most);
    return AffineMapAttr::get(AffineMap::get(0, launch.getSizes().getNumSymbols(), grid));
  }

  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    getOperation().walk([&](plan::LaunchOp launch) {
      auto kernel = symbols.lookup<func::FuncOp>(launch.getKernel());
      if (!kernel)
        return;
      // The kernel's maps use its index arguments; `sizes` maps these to the plan's symbols.
      auto compose = [&](StringRef name, int64_t absent) {
        auto map = kernel->getAttrOfType<AffineMapAttr>(name);
        AffineMap sizes = launch.getSizes();
        AffineExpr expr = map ? map.getValue().getResult(0) : getAffineConstantExpr(absent, &getContext());
        expr = expr.replaceSymbols(sizes.getResults());
        return AffineMapAttr::get(AffineMap::get(0, sizes.getNumSymbols(), expr));
      };
      launch.setGridAttr(compose(gridAttrName, 1));
      if (auto between = kernel->getAttrOfType<DenseI64ArrayAttr>(sizesBetweenAttrName)) {
        launch.setGridAttr(onlyBetween(launch, between[0], between[1]));
        launch->setAttr(sizesBetweenAttrName, between);
      }
      launch.setScratchAttr(compose(scratchAttrName, 1));
      if (kernel->hasAttr(flopsAttrName))
        launch->setAttr(flopsAttrName, compose(flopsAttrName, 0));
      if (Attribute schedule = kernel->getAttr(scheduleAttrName))
        launch->setAttr(scheduleAttrName, schedule);
      if (kernel->hasAttr(checksAttrName))
        launch->setAttr(checksAttrName, UnitAttr::get(&getContext()));
      if (Attribute messages = kernel->getAttr(messagesAttrName))
        launch->setAttr(messagesAttrName, messages);
    });
  }
};
} // namespace
} // namespace tilewright
