// This test checks the Verilog of a design with integers: the iteration counters, the pipeline stages after each
// counter, the memories, and the start conditions of tasks.
// RUN: rm -rf %t && tilewright compile %s --target=hls --budget dsp=1 --rtl -o %t
// RUN: FileCheck %s --input-file=%t/rtl/model.v
// RUN: FileCheck %s --input-file=%t/rtl/test_bench.v --check-prefix=BENCH
// RUN: FileCheck %s --input-file=%t/report.json --check-prefix=REPORT
// RUN: bash -c 'sed s/i8/f32/g\;s/i32/f32/g %s > %t.floats.mlir'
// RUN: not tilewright compile %t.floats.mlir --target=hls --rtl -o %t.floats 2>&1 | FileCheck %s --check-prefix=FLOATS
// RUN: not ls %t.floats
// RUN: not tilewright compile %s --rtl -o %t.so 2>&1 | FileCheck %s --check-prefix=TARGET
// RUN: not tilewright compile %s --target=hls --rtl --emit=cpp 2>&1 | FileCheck %s --check-prefix=EMIT

// CHECK: module model (
// CHECK: output wire x_on, output wire [31:0] x_at, input wire [31:0] x_data
// CHECK: output wire y_on
// The product of two bytes passes through three pipeline registers.
// CHECK: // matmul_{{.*}}: 64 iterations, one every 1
// CHECK: assign [[PRODUCT:task_matmul_0_s[0-9]+]] = task_matmul_0_s{{.*}} * task_matmul_0_s
// CHECK: [[PRODUCT]]_r0 <= [[PRODUCT]];
// CHECK: [[PRODUCT]]_r1 <= [[PRODUCT]]_r0;
// CHECK: [[PRODUCT]]_r <= [[PRODUCT]]_r1;
// The task of the product begins when both operands are complete.
// CHECK: assign task_matmul_ready = started & task_load_x_complete & task_load_w_complete;
// CHECK: always @(posedge clk) if (y_chip_mem{{.*}}_w0_on) y_chip_mem{{.*}}[y_chip_mem{{.*}}_w0_at] <= y_chip_mem
// CHECK: endmodule

// BENCH: file = $fopen("../data/input_0.bin", "rb");
// BENCH: $display("cycles %0d", cycles);

// REPORT: "one_call_bram": 0

// FLOATS: this design cannot be printed as Verilog:
// FLOATS: port 'x' has float elements, which are not supported in Verilog: quantize the model
// EMIT: --rtl writes files into the folder of a design, but --emit writes one text; remove one of these flags
// TARGET: --rtl requires --target=hls; target 'cpu' does not have this option
func.func @main(%x: tensor<4x4xi8> {tw.name = "x"}, %w: tensor<4x4xi8> {tw.name = "w"}) -> (tensor<4x4xi32> {tw.name = "y"}) {
  %y = tw.matmul %x, %w : (tensor<4x4xi8>, tensor<4x4xi8>) -> tensor<4x4xi32>
  return %y : tensor<4x4xi32>
}
