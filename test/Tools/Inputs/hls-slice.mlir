func.func @main(%x: tensor<3x5xf32> {tw.name = "x"}) -> (tensor<2x3xf32> {tw.name = "y"}) {
%y = tw.slice %x {offsets = affine_map<() -> (0, 0)>, strides = array<i64: 2, 2>} : tensor<3x5xf32> -> tensor<2x3xf32>
return %y : tensor<2x3xf32>
}
