// RUN: tilewright-opt %s -verify-diagnostics -split-input-file
// Each function violates one constraint of dialects/Tile/TileOps.td, and is named after this constraint.

func.func @tile_matmul_c1(%a: memref<2x4x8xf32>, %b: memref<1x8x16xf32>, %c: memref<4x16xf32>) {
  // expected-error @below {{tile_matmul_c1: A is of rank 3 and C of rank 2}}
  tw_tile.matmul {panel = 16, group = 1, lhs_permutation = array<i64: 0, 1>} ins(%a, %b : memref<2x4x8xf32>, memref<1x8x16xf32>) outs(%c : memref<4x16xf32>)
  return
}

// -----

func.func @tile_matmul_c1_permutation(%a: memref<4x8xf32>, %b: memref<1x8x16xf32>, %c: memref<4x16xf32>) {
  // expected-error @below {{tile_matmul_c1: lhs_permutation does not place}}
  tw_tile.matmul {panel = 16, group = 1, lhs_permutation = array<i64: 0, 0>} ins(%a, %b : memref<4x8xf32>, memref<1x8x16xf32>) outs(%c : memref<4x16xf32>)
  return
}

// -----

func.func @tile_matmul_c4(%a: memref<2x4x8xf32>, %b: memref<1x8x16xf32>, %i: memref<2xi64>, %c: memref<2x4x16xf32>) {
  // expected-error @below {{tile_matmul_c4: C is of rank 3 and B is 'memref<1x8x16xf32>'}}
  tw_tile.matmul {panel = 16, group = 1, lhs_permutation = array<i64: 0, 1, 2>}
    ins(%a, %b, %i : memref<2x4x8xf32>, memref<1x8x16xf32>, memref<2xi64>) outs(%c : memref<2x4x16xf32>)
  return
}

// -----

func.func @tile_matmul_c4_numbers(%a: memref<2x4x8xf32>, %b: memref<5x1x8x16xf32>, %i: memref<3xi64>, %c: memref<2x4x16xf32>) {
  // expected-error @below {{is not an integer for each of 2 batches}}
  tw_tile.matmul {panel = 16, group = 1, lhs_permutation = array<i64: 0, 1, 2>}
    ins(%a, %b, %i : memref<2x4x8xf32>, memref<5x1x8x16xf32>, memref<3xi64>) outs(%c : memref<2x4x16xf32>)
  return
}

// -----

func.func @tile_matmul_c2(%a: memref<4x9xf32>, %b: memref<1x8x16xf32>, %c: memref<4x16xf32>) {
  // expected-error @below {{tile_matmul_c2: B's 'memref<1x8x16xf32>' does not cover K = 9 and N = 16}}
  tw_tile.matmul {panel = 16, group = 1, lhs_permutation = array<i64: 0, 1>} ins(%a, %b : memref<4x9xf32>, memref<1x8x16xf32>) outs(%c : memref<4x16xf32>)
  return
}

// -----

func.func @tile_matmul_c2_panel(%a: memref<4x8xf32>, %b: memref<1x8x16xf32>, %c: memref<4x16xf32>) {
  // expected-error @below {{tile_matmul_c2: a panel's row has 16 elements, not panel x group = 32}}
  tw_tile.matmul {panel = 16, group = 2, lhs_permutation = array<i64: 0, 1>} ins(%a, %b : memref<4x8xf32>, memref<1x8x16xf32>) outs(%c : memref<4x16xf32>)
  return
}

// -----

func.func @tile_matmul_c3(%a: memref<4x8xbf16>, %b: memref<1x8x16xbf16>, %c: memref<4x16xbf16>) {
  // expected-error @below {{tile_matmul_c3: C is of 'bf16'}}
  tw_tile.matmul {panel = 16, group = 1, lhs_permutation = array<i64: 0, 1>} ins(%a, %b : memref<4x8xbf16>, memref<1x8x16xbf16>) outs(%c : memref<4x16xbf16>)
  return
}

// -----

func.func @tile_matmul_results(%a: tensor<4x8xf32>, %b: tensor<1x8x16xf32>, %c: tensor<4x16xf32>) {
  // expected-error @below {{has 0 results; expected one per output on tensors}}
  tw_tile.matmul {panel = 16, group = 1, lhs_permutation = array<i64: 0, 1>} ins(%a, %b : tensor<4x8xf32>, tensor<1x8x16xf32>) outs(%c : tensor<4x16xf32>)
  return
}

// -----

func.func @tile_convolution_c1(%a: memref<1x4x4x8xf32>, %b: memref<1x3x24x16xf32>, %c: memref<1x2x2x16xf32>) {
  // expected-error @below {{tile_convolution_c1: ranks 4, 4 and 4; expected 4, 5 and 4}}
  tw_tile.convolution {panel = 16, group = 1, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>} ins(%a, %b : memref<1x4x4x8xf32>, memref<1x3x24x16xf32>) outs(%c : memref<1x2x2x16xf32>)
  return
}

// -----

func.func @tile_convolution_c2(%a: memref<1x4x8x8xf32>, %b: memref<1x3x24x16xf32>, %c: memref<1x2x2x16xf32>) {
  // expected-error @below {{tile_convolution_c2: the width is merged with the channels, but its dilation is 2}}
  tw_tile.convolution {panel = 16, group = 1, merged_width = 3, strides = array<i64: 1, 1>, dilations = array<i64: 1, 2>} ins(%a, %b : memref<1x4x8x8xf32>, memref<1x3x24x16xf32>) outs(%c : memref<1x2x2x16xf32>)
  return
}

// -----

func.func @tile_convolution_c2_height(%a: memref<1x4x8x8xf32>, %b: memref<1x72x16xf32>, %c: memref<1x2x2x16xf32>) {
  // expected-error @below {{tile_convolution_c2: the height is merged with the channels, but the width is not}}
  tw_tile.convolution {panel = 16, group = 1, merged_height = 3, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>} ins(%a, %b : memref<1x4x8x8xf32>, memref<1x72x16xf32>) outs(%c : memref<1x2x2x16xf32>)
  return
}

// -----

func.func @tile_convolution_c3(%a: memref<1x4x4x8xf32>, %b: memref<1x3x23x16xf32>, %c: memref<1x2x2x16xf32>) {
  // expected-error @below {{tile_convolution_c3: weight}}
  tw_tile.convolution {panel = 16, group = 1, merged_width = 3, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>} ins(%a, %b : memref<1x4x4x8xf32>, memref<1x3x23x16xf32>) outs(%c : memref<1x2x2x16xf32>)
  return
}

// -----

func.func @tile_pack_c1(%a: memref<8x20xf32>, %p: memref<1x8x16xf32>) {
  // expected-error @below {{tile_pack_c1: 'memref<1x8x16xf32>' does not cover 'memref<8x20xf32>'}}
  tw_tile.pack {panel = 16, group = 1, permutation = array<i64: 0, 1>} ins(%a : memref<8x20xf32>) outs(%p : memref<1x8x16xf32>)
  return
}

// -----

func.func @tile_grouped_convolution_c1(%a: memref<1x4x4x?xf32>, %b: memref<3x3x1x8xf32>, %c: memref<1x4x4x8xf32>) {
  // expected-error @below {{tile_grouped_convolution_c1: input}}
  tw_tile.grouped_convolution {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 1, 1>} ins(%a, %b : memref<1x4x4x?xf32>, memref<3x3x1x8xf32>) outs(%c : memref<1x4x4x8xf32>)
  return
}

// -----

func.func @tile_grouped_convolution_c2(%a: memref<1x4x4x8xf32>, %b: memref<3x3x1x8xf32>, %line: index, %c: memref<1x4x4x8xf32>) {
  // expected-error @below {{tile_grouped_convolution_c2: expected two positive strides}}
  tw_tile.grouped_convolution {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 1, 1>} ins(%a, %b : memref<1x4x4x8xf32>, memref<3x3x1x8xf32>) first(%line) outs(%c : memref<1x4x4x8xf32>)
  return
}

// -----

func.func @tile_grouped_convolution_c3(%a: memref<1x4x4x8xf32>, %b: memref<3x3x2x6xf32>, %c: memref<1x4x4x6xf32>) {
  // expected-error @below {{tile_grouped_convolution_c3: weight}}
  tw_tile.grouped_convolution {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 1, 1>} ins(%a, %b : memref<1x4x4x8xf32>, memref<3x3x2x6xf32>) outs(%c : memref<1x4x4x6xf32>)
  return
}

// -----

func.func @tile_depthwise_gradient_c1(%a: memref<1x4x4x8xf32>, %g: memref<1x4x4x6xf32>, %c: memref<1x1x3x3x8xf32>) {
  // expected-error @below {{tile_depthwise_gradient_c1: input}}
  tw_tile.depthwise_gradient {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 1, 1>, lines = 4} ins(%a, %g : memref<1x4x4x8xf32>, memref<1x4x4x6xf32>) outs(%c : memref<1x1x3x3x8xf32>)
  return
}

// -----

func.func @tile_depthwise_gradient_c2(%a: memref<1x4x4x8xf32>, %g: memref<1x4x4x8xf32>, %c: memref<1x1x3x3x8xf32>) {
  // expected-error @below {{tile_depthwise_gradient_c2: expected two positive strides}}
  tw_tile.depthwise_gradient {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, padding = array<i64: 1, 1>, lines = 0} ins(%a, %g : memref<1x4x4x8xf32>, memref<1x4x4x8xf32>) outs(%c : memref<1x1x3x3x8xf32>)
  return
}

// -----

func.func @tile_attention_c1(%q: memref<1x2x8x4xf32>, %k: memref<1x2x8x4xf32>, %o: memref<1x2x8x4xf32>, %l: memref<2x8xf32>) {
  // expected-error @below {{tile_attention_c1: results of rank 4 and 2; expected 4 and 3}}
  tw_tile.attention {scale = 1.0 : f64} ins(%q, %k, %k : memref<1x2x8x4xf32>, memref<1x2x8x4xf32>, memref<1x2x8x4xf32>) outs(%o, %l : memref<1x2x8x4xf32>, memref<2x8xf32>)
  return
}

// -----

func.func @tile_attention_c2(%q: memref<1x3x8x4xf32>, %k: memref<1x2x8x4xf32>, %o: memref<1x3x8x4xf32>, %l: memref<1x3x8xf32>) {
  // expected-error @below {{tile_attention_c2: 3 heads of queries do not share 2 heads of keys}}
  tw_tile.attention {scale = 1.0 : f64} ins(%q, %k, %k : memref<1x3x8x4xf32>, memref<1x2x8x4xf32>, memref<1x2x8x4xf32>) outs(%o, %l : memref<1x3x8x4xf32>, memref<1x3x8xf32>)
  return
}

// -----

func.func @tile_attention_gradient_c1(%q: memref<1x3x8x4xf32>, %k: memref<1x2x8x4xf32>, %l: memref<1x3x8xf32>) {
  // expected-error @below {{tile_attention_gradient_c1: 2 heads in operand 1, 3 in the query}}
  tw_tile.attention_gradient {scale = 1.0 : f64} ins(%q, %k, %k, %q, %q, %l : memref<1x3x8x4xf32>, memref<1x2x8x4xf32>, memref<1x2x8x4xf32>, memref<1x3x8x4xf32>, memref<1x3x8x4xf32>, memref<1x3x8xf32>) outs(%q, %k, %k : memref<1x3x8x4xf32>, memref<1x2x8x4xf32>, memref<1x2x8x4xf32>)
  return
}

// -----

func.func @tile_attention_gradient_c1_rank(%q: memref<1x3x8x4xf32>, %l: memref<3x8xf32>) {
  // expected-error @below {{tile_attention_gradient_c1: operand 5 is 'memref<3x8xf32>'; all are of rank 4, the log-sum-exp and sum(dO * O) of rank 3}}
  tw_tile.attention_gradient {scale = 1.0 : f64} ins(%q, %q, %q, %q, %q, %l : memref<1x3x8x4xf32>, memref<1x3x8x4xf32>, memref<1x3x8x4xf32>, memref<1x3x8x4xf32>, memref<1x3x8x4xf32>, memref<3x8xf32>) outs(%q, %q, %q : memref<1x3x8x4xf32>, memref<1x3x8x4xf32>, memref<1x3x8x4xf32>)
  return
}

// -----

func.func @tile_attention_gradient_c1_delta(%q: memref<1x3x8x4xbf16>, %d: memref<1x3x7xf32>, %l: memref<1x3x8xf32>) {
  // expected-error @below {{tile_attention_gradient_c1: sum(dO * O) is 'memref<1x3x7xf32>'; expected the type of the log-sum-exp, 'memref<1x3x8xf32>'}}
  tw_tile.attention_gradient {scale = 1.0 : f64} ins(%q, %q, %q, %d, %q, %l : memref<1x3x8x4xbf16>, memref<1x3x8x4xbf16>, memref<1x3x8x4xbf16>, memref<1x3x7xf32>, memref<1x3x8x4xbf16>, memref<1x3x8xf32>) outs(%q, %q, %q : memref<1x3x8x4xbf16>, memref<1x3x8x4xbf16>, memref<1x3x8x4xbf16>)
  return
}

// -----

func.func @tile_scan_c1(%a: memref<4xf32>, %b: memref<5xf32>) {
  // expected-error @below {{tile_scan_c1: dim 0 of 'memref<4xf32>' into 'memref<5xf32>'}}
  tw_tile.scan sum {dim = 0 : i64} ins(%a : memref<4xf32>) outs(%b : memref<5xf32>)
  return
}

// -----

func.func @tile_sort_c1(%a: memref<4xf32>, %b: memref<5xf32>, %i: memref<5xi64>) {
  // expected-error @below {{tile_sort_c1: 'memref<4xf32>' sorted along 0 into 'memref<5xf32>'}}
  tw_tile.sort {dim = 0 : i64} ins(%a : memref<4xf32>) outs(%b, %i : memref<5xf32>, memref<5xi64>)
  return
}

// -----

func.func @tile_scatter_c1(%a: memref<4xf32>, %i: memref<4xi64>, %b: memref<5xf32>) {
  // expected-error @below {{tile_scatter_c1: 0 maps for 1 index tensors}}
  tw_tile.scatter add {index_maps = [], dest_map = affine_map<(d0)[s0] -> (s0)>} ins(%a, %i : memref<4xf32>, memref<4xi64>) outs(%b : memref<5xf32>)
  return
}

// -----

func.func @tile_scatter_c2(%a: memref<4xf32>, %i: memref<4xi64>, %b: memref<5x2xf32>) {
  // expected-error @below {{tile_scatter_c2: dest_map gives 1 positions from 1 loops and 1 indices; expected 2, 1 and 1}}
  tw_tile.scatter add {index_maps = [affine_map<(d0) -> (d0)>], dest_map = affine_map<(d0)[s0] -> (s0)>} ins(%a, %i : memref<4xf32>, memref<4xi64>) outs(%b : memref<5x2xf32>)
  return
}
