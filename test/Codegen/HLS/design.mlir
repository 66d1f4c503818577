// This test compiles one model through every stage, and checks the printed code, its pragmas, and its cost. The product
// passes its results to the next task in blocks of two columns, while it computes the next block.
// RUN: tilewright compile %s --target=hls --budget=dsp=10 --emit=target | FileCheck %s --check-prefix=TARGET
// RUN: tilewright compile %s --target=hls --budget=dsp=10 --emit=asm | FileCheck %s
// RUN: rm -rf %t && tilewright compile %s --target=hls --part=xc7z020 --budget=dsp=10 -o %t
// RUN: FileCheck %s --check-prefix=HEADER < %t/kernel.h
// RUN: FileCheck %s --check-prefix=BENCH < %t/test_bench.cpp
// RUN: FileCheck %s --check-prefix=SCRIPT < %t/run_hls.tcl
// RUN: FileCheck %s --check-prefix=REPORT < %t/report.md
// RUN: FileCheck %s --check-prefix=THREADS < %t/check/dataflow_check.cpp

// TARGET: func.func private @matmul(
// TARGET: tw_hls.loop
// TARGET: func.func @model
// TARGET: tw_hls.dataflow
// TARGET: func.func private @load_x

// CHECK-LABEL: void load_x(const float *from, float to[8][6]) {
// CHECK: load_x_i: for (int i = 0; i < 8; ++i) {
// CHECK: #pragma HLS pipeline II=1
// CHECK: #pragma HLS loop_flatten
// CHECK: to[i][j * 2 + u] = from[i * 6 + j * 2 + u];
// CHECK-LABEL: void matmul(const float x[8][6], const float w[6][12], hls::stream_of_blocks<float[8][2], 2> &matmul_out) {
// CHECK: #pragma HLS array_partition variable=matmul_out type=complete dim=1
// CHECK: matmul_b: for (int b = 0; b < 6; ++b) {
// CHECK-NEXT: hls::write_lock<float[8][2]> matmul_out_block(matmul_out);
// CHECK-NEXT: matmul_k: for (int k = 0; k < 6; ++k) {
// CHECK-NEXT: #pragma HLS pipeline II=
// CHECK: float [[SUM:t[0-9]+]];
// CHECK-NEXT: #pragma HLS bind_op variable=[[SUM]] op=fadd impl=fabric latency=4
// CHECK-NEXT: [[SUM]] = ((k == 0) ? 0.0f : matmul_out_block[u][v]) + (x[u][k] * w[k][b * 2 + v]);
// CHECK-NEXT: matmul_out_block[u][v] = [[SUM]];
// CHECK-LABEL: void add(hls::stream_of_blocks<float[8][2], 2> &matmul_out, const float b[12], float y[8][12]) {
// CHECK: hls::read_lock<float[8][2]> matmul_out_block(matmul_out);
// CHECK: y[i][b_2 * 2 + j] = matmul_out_block[i][j] + b[b_2 * 2 + j];
// CHECK-LABEL: void model(const float *x, const float *w, const float *b, float *y) {
// CHECK: #pragma HLS interface m_axi port=x bundle=gmem0 offset=slave depth=48
// CHECK: #pragma HLS interface m_axi port=y bundle=gmem3
// CHECK: #pragma HLS dataflow
// CHECK: load_x(x, x_chip);
// CHECK: hls::stream_of_blocks<float[8][2], 2> matmul_out_chip;
// CHECK-NEXT: #pragma HLS array_partition variable=matmul_out_chip type=complete dim=1
// CHECK: matmul(x_chip, w_chip, matmul_out_chip);
// CHECK: add(matmul_out_chip, b_chip, y_chip);
// CHECK: store_y(y_chip, y);

// HEADER: #include <hls_streamofblocks.h>
// HEADER: void model(const float *x, const float *w, const float *b, float *y);
// BENCH: std::vector<float> x = bench.read<float>("input_0.bin", 48);
// BENCH: bench.compare("y", "output_0", y);
// SCRIPT: set_part {xc7z020clg400-1}
// REPORT: # Estimate for xc7z020, 300 MHz
// REPORT: DSP {{[0-9]+}} of 10, BRAM
// REPORT: DSP efficiency: 576 multiply-accumulates per call, {{0\.[0-9]+}} per DSP and cycle for consecutive calls
// REPORT: | matmul |
// REPORT: | matmul: matmul_k | 36 |
// REPORT: | queue | depth | type | from | to | BRAM |
// REPORT: | matmul_out_chip | 2 | `hls::stream_of_blocks<float[8][2], 2>` | matmul | add | 0 |
// THREADS: hls::stream_of_blocks<float[8][2], 2> matmul_out_chip;
// THREADS: tasks.add({&x_chip_filled, &w_chip_filled}, {}, {{.*}} matmul(x_chip, w_chip, matmul_out_chip); });
// THREADS: tasks.add({&b_chip_filled}, {&y_chip_filled}, {{.*}} add(matmul_out_chip, b_chip, y_chip); });
func.func @main(%x: tensor<8x6xf32> {tw.name = "x"}, %w: tensor<6x12xf32> {tw.name = "w"}, %b: tensor<12xf32> {tw.name = "b"}) -> (tensor<8x12xf32> {tw.name = "y"}) {
  %m = tw.matmul %x, %w : (tensor<8x6xf32>, tensor<6x12xf32>) -> tensor<8x12xf32>
  %y = tw.add %m, %b : (tensor<8x12xf32>, tensor<12xf32>) -> tensor<8x12xf32>
  return %y : tensor<8x12xf32>
}
