// gesummv of PolyBench, size MEDIUM: y = alpha A x + beta B x.
func.func @main(%A: tensor<250x250xf32> {tw.name = "A"},
                %B: tensor<250x250xf32> {tw.name = "B"},
                %x: tensor<250x1xf32> {tw.name = "x"})
    -> (tensor<250x1xf32> {tw.name = "y"}) {
  %alpha = tw.constant dense<1.5> : tensor<f32>
  %beta = tw.constant dense<1.2> : tensor<f32>
  %Ax = tw.matmul %A, %x : (tensor<250x250xf32>, tensor<250x1xf32>) -> tensor<250x1xf32>
  %Bx = tw.matmul %B, %x : (tensor<250x250xf32>, tensor<250x1xf32>) -> tensor<250x1xf32>
  %left = tw.mul %Ax, %alpha : (tensor<250x1xf32>, tensor<f32>) -> tensor<250x1xf32>
  %right = tw.mul %Bx, %beta : (tensor<250x1xf32>, tensor<f32>) -> tensor<250x1xf32>
  %y = tw.add %left, %right : (tensor<250x1xf32>, tensor<250x1xf32>) -> tensor<250x1xf32>
  return %y : tensor<250x1xf32>
}
