// A custom operation of TensorFlow. LEAK: KeepSumOp::Keep copies each batch and never frees it. tensors.py calls it.
#include <cstring>

#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/shape_inference.h"

using namespace tensorflow;

REGISTER_OP("KeepSum").Input("values: float").Output("sum: float").SetShapeFn([](shape_inference::InferenceContext* c) {
  c->set_output(0, c->Scalar());
  return Status();
});

class KeepSumOp : public OpKernel {
 public:
  explicit KeepSumOp(OpKernelConstruction* context) : OpKernel(context) {}

  void Compute(OpKernelContext* context) override {
    auto values = context->input(0).flat<float>();
    float* copy = Keep(values.data(), values.size());
    Tensor* sum = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output(0, TensorShape({}), &sum));
    sum->scalar<float>()() = 0;
    for (int64_t i = 0; i < values.size(); i++) sum->scalar<float>()() += copy[i];
  }

 private:
  static float* Keep(const float* values, int64_t n) {
    float* copy = new float[n];
    std::memcpy(copy, values, n * sizeof *copy);
    return copy;
  }
};

REGISTER_KERNEL_BUILDER(Name("KeepSum").Device(DEVICE_CPU), KeepSumOp);
