// A loop unrolled eight times writes to twelve banks. The bank to which each of the eight copies of the body writes
// changes from iteration to iteration.
// RUN: rm -rf %t && tilewright compile %s --target=hls --budget dsp=10 --rtl -o %t
// RUN: FileCheck %s --input-file=%t/rtl/model.v
// RUN: FileCheck %s --input-file=%t/report.md --check-prefix=REPORT
// RUN: FileCheck %s --input-file=%t/report.json --check-prefix=JSON
// RUN: rm -rf %t.gemv && tilewright compile %S/../../Conformance/hls/designs/rtl_gemv.mlir --target=hls --budget dsp=10 --rtl -o %t.gemv
// RUN: FileCheck %s --input-file=%t.gemv/rtl/model.v --check-prefix=SHARED
// RUN: rm -rf %t.gemm && tilewright compile %S/../../Conformance/hls/designs/rtl_gemm.mlir --target=hls --budget dsp=10 --rtl -o %t.gemm
// RUN: FileCheck %s --input-file=%t.gemm/rtl/model.v --check-prefix=SPLIT
// RUN: rm -rf %t.transposed && tilewright compile %S/../../Conformance/hls/designs/rtl_transposed.mlir --target=hls --budget dsp=10 --rtl -o %t.transposed
// RUN: FileCheck %s --input-file=%t.transposed/rtl/model.v --check-prefix=TREE

// CHECK: (* ram_style = "distributed" *) reg [15:0] x_chip_mem_0 [0:31];
// Each copy writes to only some of the banks. The loop counters index a table that identifies the one to which the copy
// writes in this iteration. Only the copies that write to a bank are connected to its port.
// CHECK-NOT: x_chip_mem_0_w1
// CHECK-NOT: {{ [%/] [0-9]}}
// CHECK: assign task_load_x_0_a1_bank = task_load_x_0_a1_bank_table[{task_load_x_0_c0_1[3:0], task_load_x_0_c1_1[1:0], 1'd0} +: 2];
// CHECK: assign x_chip_mem_0_w0_on = (task_load_x_0_valid_1 & (task_load_x_0_a{{[0-9]+}}_bank == {{[0-9]+}})) | (task_load_x_0_valid_1 & (task_load_x_0_a{{[0-9]+}}_bank == {{[0-9]+}}));
// CHECK-NOT: x_chip_mem_0_w1
// CHECK: endmodule

// REPORT: The Verilog has DSP 0, BRAM 0, LUT {{[0-9]+}}, FF {{[0-9]+}}. These numbers are counted in the Verilog text, and include memories in LUT.
// JSON: "rtl": {
// JSON-NEXT: "ff":
// JSON-NEXT: "lut":

// A block memory has only two ports. If two elements are written per cycle, both ports write, and one of them is shared
// with reads.
// SHARED: (* ram_style = "block" *) reg [7:0] [[BANK:w_chip_mem_0]] [0:383];
// SHARED: [[BANK]][[[BANK]]_p0_at] <= [[BANK]]_w0_data;
// SHARED: [[BANK]][[[BANK]]_w1_at] <= [[BANK]]_w1_data;
// SHARED: [[BANK]]_r0_q <= [[BANK]][[[BANK]]_p0_at];
// SHARED: assign [[BANK]]_p0_at = [[BANK]]_w0_on ? [[BANK]]_w0_at : [[BANK]]_r0_at;

// A memory of lookup tables has only one write port. Two elements are written per cycle, so eight banks become sixteen.
// SPLIT: (* ram_style = "distributed" *) reg [7:0] x_chip_mem_15 [0:15];
// SPLIT-NOT: _w1_on

// The iteration counter is the number of the bank that is read, from 0 to 11. Its bits select the bank in a tree of
// multiplexers.
// TREE: assign [[BANK:task_add_0_a1_bank]] = {task_add_0_c0_1[3:0]};
// TREE: assign task_add_0_s1 = ([[BANK]][3] ? ([[BANK]][1] ? ([[BANK]][0] ? task_add_0_s1_of_11 : task_add_0_s1_of_10) : (
// TREE-NOT: task_add_0_a1_bank ==
func.func @main(%x: tensor<16x24xi16> {tw.name = "x"}) -> (tensor<24xi16> {tw.name = "y"}) {
  %y = tw.reduce max %x {dims = array<i64: 0>} : tensor<16x24xi16> -> tensor<24xi16>
  return %y : tensor<24xi16>
}
