// A classifier of points in the plane: two layers, with weights as constants and a symbolic number of points.
#points = affine_map<()[s0] -> (s0, 2)>
#hidden = affine_map<()[s0] -> (s0, 4)>
#classes = affine_map<()[s0] -> (s0, 3)>
func.func @main(%n: index {tw.symbol = "points", tw.min = 1 : i64, tw.max = 1000000 : i64},
                %x: tensor<?x2xf32, #points> {tw.name = "x"}) -> (tensor<?x3xf32, #classes> {tw.name = "probabilities"}) {
  %u = tw.constant dense<[[1.0, -1.0, 0.0, 0.5], [0.0, 0.5, 1.0, -1.0]]> : tensor<2x4xf32>
  %a = tw.constant dense<[0.0, 0.1, 0.2, 0.3]> : tensor<4xf32>
  %v = tw.constant dense<[[2.0, 0.0, -1.0], [-1.0, 2.0, 0.0], [0.0, -1.0, 2.0], [1.0, 1.0, 1.0]]> : tensor<4x3xf32>
  %p = tw.matmul %x, %u : (tensor<?x2xf32, #points>, tensor<2x4xf32>) -> tensor<?x4xf32, #hidden>
  %s = tw.add %p, %a : (tensor<?x4xf32, #hidden>, tensor<4xf32>) -> tensor<?x4xf32, #hidden>
  %h = tw.gelu %s : (tensor<?x4xf32, #hidden>) -> tensor<?x4xf32, #hidden>
  %q = tw.matmul %h, %v : (tensor<?x4xf32, #hidden>, tensor<4x3xf32>) -> tensor<?x3xf32, #classes>
  %y = tw.softmax %q {dim = 1 : i64, safe} : tensor<?x3xf32, #classes> -> tensor<?x3xf32, #classes>
  return %y : tensor<?x3xf32, #classes>
}
