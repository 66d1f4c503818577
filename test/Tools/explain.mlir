// RUN: tilewright explain %s | FileCheck %s --check-prefix=TEXT
// RUN: tilewright explain %s --measure --calls=3 | FileCheck %s --check-prefix=MEASURED
// RUN: tilewright explain %s --json %t.json --html %t.html && FileCheck %s --check-prefix=JSON < %t.json
// RUN: FileCheck %s --check-prefix=HTML < %t.html
// RUN: tilewright explain %t.json | FileCheck %s --check-prefix=TEXT
// RUN: tilewright explain %t.json --html %t.again.html && cmp %t.html %t.again.html
// RUN: tilewright compile %s --emit=structured -o %t.mlir && tilewright explain %t.mlir --start-at=structured | FileCheck %s --check-prefix=LATER
// RUN: tilewright explain %s --target=reference | FileCheck %s --check-prefix=REFERENCE
// RUN: not tilewright explain %s --against %t.json 2>&1 | FileCheck %s --check-prefix=AGAINST
// RUN: echo '{"format": 99}' > %t.99.json && not tilewright explain %t.99.json --html %t.none 2>&1 | FileCheck %s --check-prefix=FORMAT
// RUN: echo '[]' > %t.list.json && not tilewright explain %s --html %t.none --against %t.list.json 2>&1 | FileCheck %s --check-prefix=LIST
// RUN: not tilewright explain %t.list.json 2>&1 | FileCheck %s --check-prefix=RECORD
// RUN: echo '{"format": 1, "origins": []}' > %t.part.json && not tilewright explain %t.part.json 2>&1 | FileCheck %s --check-prefix=PART
// RUN: true > %t.empty && not tilewright explain %s --html %t.none --against %t.empty 2>&1 | FileCheck %s --check-prefix=EMPTY
// RUN: not tilewright explain %s --measure --calls=0 2>&1 | FileCheck %s --check-prefix=CALLS
// RUN: not tilewright explain %s --target=abacus 2>&1 | FileCheck %s --check-prefix=TARGET

// TEXT: explain.mlir: 3 operations, {{[1-9]}} distinct kernels, target cpu, native ({{.+}}), {{[0-9]+}} threads
// TEXT: kernels (launches, expected, schedule, operations)
// TEXT: exp_0 {{.*}}; exp{{$}}
// TEXT: not fused
// TEXT: exp separate from {{.*}}: a contraction reads its operands many times: computing exp inside would repeat it [{{.*}}explain.mlir:[[#]]]
// TEXT: steps that only copy
// TEXT: pack_0: {{.*}} reads the operand in panels, which are adjacent in the copy
// TEXT: memory of a call: {{[1-9][0-9]*}} bytes
// TEXT: compiled in graph {{.*}} structured {{.*}} tiled {{.*}} vector {{.*}} target {{.*}} assembly
// MEASURED: kernels (launches, expected, measured, share of roof, schedule, operations)
// MEASURED: exp_0 {{.*[0-9]%}}
// JSON: {"format":1,"model":"{{.*}}explain.mlir"
// HTML: <meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'sha256-
// LATER: exp_0 {{.*}}; exp
// REFERENCE: target reference
// AGAINST: tilewright explain: --against adds a comparison to the HTML page; add --html FILE
// FORMAT: the record has the format 99, but this version of Tilewright reads format 1; create it again with tilewright explain --json
// LIST: cannot compare: this is not a record that `tilewright explain --json` wrote: it has no "format"
// RECORD: this is not a record that `tilewright explain --json` wrote: it has no "format"
// PART: this is not a record that `tilewright explain --json` wrote: it has no list "sets"
// EMPTY: is empty; expected the output of `tilewright explain --json`
// CALLS: --calls must be at least 1
// TARGET: unknown target 'abacus'
func.func @main(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %e = tw.exp %x : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %y = tw.matmul %e, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %z = tw.exp %y : (tensor<64x64xf32>) -> tensor<64x64xf32>
  return %z : tensor<64x64xf32>
}
