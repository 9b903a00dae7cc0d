"""Writes the tiny ONNX files of crates/tares-backbone/tests/files, and onnxruntime's output for them, so that reader and
operators are tested against another program. Run once; the files are checked in (NumPy, onnx, onnxruntime).

    python compare/make_tiny_networks.py crates/tares-backbone/tests/files

NAME.features.txt holds the features of one 8x8 picture whose pixel (row, column, channel) is (row*31 + column*7 + channel*53) % 256,
normalised with ImageNet's mean and deviation.
"""
import pathlib, sys
import numpy as np, onnx, onnxruntime
from onnx import TensorProto as T, helper as h, numpy_helper

out = pathlib.Path(sys.argv[1]); out.mkdir(parents=True, exist_ok=True)
rng = np.random.default_rng(7)
row, column, channel = np.indices((8, 8, 3))
pixels = ((row * 31 + column * 7 + channel * 53) % 256).astype("f4")
picture = ((pixels / 255 - np.float32([.485, .456, .406])) / np.float32([.229, .224, .225])).astype("f4").transpose(2, 0, 1)[None]

def weights(name, *shape): return numpy_helper.from_array(rng.normal(size=shape).astype("f4") * .4, name)
def whole(name, *values): return numpy_helper.from_array(np.array(values, "i8"), name)

def write(name, nodes, constants, inputs=None, opset=20, features=None, metadata=None):
    inputs = inputs or [h.make_tensor_value_info("input", T.FLOAT, ["batch", 3, 8, 8])]
    graph = h.make_graph(nodes, name, inputs, [h.make_tensor_value_info(nodes[-1].output[0], T.FLOAT, None)], constants)
    model = h.make_model(graph, opset_imports=[h.make_opsetid("", opset)], ir_version=8)
    if metadata: h.set_model_props(model, metadata)
    (out / f"{name}.onnx").write_bytes(model.SerializeToString())
    if features:
        model.graph.output.extend([h.make_tensor_value_info(features, T.FLOAT, None)] if features != nodes[-1].output[0] else [])
        session = onnxruntime.InferenceSession(model.SerializeToString())
        numbers = session.run([features], {"input": picture})[0].reshape(-1)
        (out / f"{name}.features.txt").write_text("".join(f"{v:.9e}\n" for v in numbers))
    return model

# A classifier of convolutions: odd strides and pads, a depthwise and a grouped one, batch norm, both pools. Features: input of the Gemm.
convolutions = write("classifier", [
    h.make_node("Conv", ["input", "w1", "b1"], ["c1"], kernel_shape=[3, 3], strides=[2, 1], pads=[1, 0, 1, 2]),
    h.make_node("BatchNormalization", ["c1", "s", "t", "m", "v"], ["n1"], epsilon=1e-3),
    h.make_node("Relu", ["n1"], ["r1"]),
    h.make_node("Conv", ["r1", "w2"], ["c2"], group=6, auto_pad="SAME_UPPER", strides=[1, 2]),
    h.make_node("HardSwish", ["c2"], ["a2"]),
    h.make_node("Conv", ["a2", "w3"], ["c3"], group=2, dilations=[2, 1], pads=[2, 1, 2, 1]),
    h.make_node("Clip", ["c3", "zero", "six"], ["a3"]),
    h.make_node("MaxPool", ["a3"], ["p3"], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1], ceil_mode=1),
    h.make_node("AveragePool", ["p3"], ["q3"], kernel_shape=[2, 2], pads=[0, 0, 1, 1]),
    h.make_node("Sigmoid", ["q3"], ["g3"]), h.make_node("Mul", ["q3", "g3"], ["s3"]),
    h.make_node("GlobalAveragePool", ["s3"], ["e3"]), h.make_node("Mul", ["s3", "e3"], ["x3"]),
    h.make_node("ReduceMean", ["x3", "hw"], ["f"], keepdims=0),
    h.make_node("Gemm", ["f", "w4", "b4"], ["logits"], transB=1), h.make_node("Softmax", ["logits"], ["probabilities"])],
    [weights("w1", 6, 3, 3, 3), weights("b1", 6), weights("s", 6), weights("t", 6), weights("m", 6),
     numpy_helper.from_array(np.abs(rng.normal(size=6)).astype("f4") + .5, "v"), weights("w2", 6, 1, 3, 3), weights("w3", 8, 3, 2, 3),
     numpy_helper.from_array(np.float32(0), "zero"), numpy_helper.from_array(np.float32(6), "six"), whole("hw", 2, 3),
     weights("w4", 3, 8), weights("b4", 3)], features="f")

# Patches, positions, one head of attention, no dense layer at the end. Features: the output, the first token.
write("attention", [
    h.make_node("Conv", ["input", "wp"], ["patches"], kernel_shape=[4, 4], strides=[4, 4]),
    h.make_node("Shape", ["patches"], ["size"]), h.make_node("Slice", ["size", "i0", "i2"], ["head"]),
    h.make_node("Concat", ["head", "minus"], ["wanted"], axis=0), h.make_node("Reshape", ["patches", "wanted"], ["flat"]),
    h.make_node("Transpose", ["flat"], ["tokens"], perm=[0, 2, 1]),
    h.make_node("Gather", ["size", "zero"], ["n"]), h.make_node("Unsqueeze", ["n", "axis"], ["n1"]), h.make_node("Concat", ["n1", "ones"], ["class_shape"], axis=0),
    h.make_node("Expand", ["class", "class_shape"], ["first"]), h.make_node("Concat", ["first", "tokens"], ["all"], axis=1),
    h.make_node("Add", ["all", "position"], ["x"]), h.make_node("LayerNormalization", ["x", "ls", "lb"], ["xn"], axis=-1, epsilon=1e-6),
    h.make_node("MatMul", ["xn", "wq"], ["qkv3"]), h.make_node("Split", ["qkv3"], ["q", "k", "v"], axis=2, num_outputs=3),
    h.make_node("Transpose", ["k"], ["kt"], perm=[0, 2, 1]), h.make_node("MatMul", ["q", "kt"], ["scores"]),
    h.make_node("Div", ["scores", "root"], ["scaled"]), h.make_node("Softmax", ["scaled"], ["weights"], axis=-1), h.make_node("MatMul", ["weights", "v"], ["mixed"]),
    h.make_node("Add", ["mixed", "x"], ["y"]), h.make_node("MatMul", ["y", "wm"], ["m0"]), h.make_node("Gelu", ["m0"], ["m1"]), h.make_node("MatMul", ["m1", "wn"], ["m2"]),
    h.make_node("Add", ["m2", "y"], ["z"]), h.make_node("Gather", ["z", "zero"], ["answer"], axis=1)],
    [weights("wp", 5, 3, 4, 4), whole("i0", 0), whole("i2", 2), whole("minus", -1), numpy_helper.from_array(np.array(0, "i8"), "zero"), whole("axis", 0), whole("ones", 1, 5),
     weights("class", 1, 1, 5), weights("position", 1, 5, 5), weights("ls", 5), weights("lb", 5), weights("wq", 5, 15), numpy_helper.from_array(np.float32(5 ** .5), "root"),
     weights("wm", 5, 7), weights("wn", 7, 5)], features="answer")

# The forms of older files, and channels last; the file holds the mean and the deviation.
write("old-opset", [
    h.make_node("Transpose", ["input"], ["chw"], perm=[0, 3, 1, 2]), h.make_node("Conv", ["chw", "w"], ["c"], pads=[1, 1, 1, 1]),
    h.make_node("Clip", ["c"], ["r"], min=0.0, max=6.0), h.make_node("ReduceMean", ["r"], ["m"], axes=[2, 3], keepdims=1), h.make_node("Squeeze", ["m"], ["f"], axes=[2, 3]),
    h.make_node("MatMul", ["f", "d"], ["z"]), h.make_node("Add", ["z", "bias"], ["logits"])],
    [weights("w", 4, 3, 3, 3), weights("d", 4, 2), weights("bias", 2)], opset=10,
    inputs=[h.make_tensor_value_info("input", T.FLOAT, [1, None, None, 3])], metadata={"mean": "[0.5, 0.5, 0.5]", "std": "0.25 0.25 0.25"})

# Weights in a file beside it.
onnx.save(convolutions, out / "external.onnx", save_as_external_data=True, location="external.onnx.data", size_threshold=100)

# Files that must be refused.
pixel = h.make_tensor_value_info("pixels", T.FLOAT, ["batch", 3, 8, 8])
write("two-inputs", [h.make_node("Add", ["pixels", "mask"], ["y"])], [], [pixel, h.make_tensor_value_info("mask", T.FLOAT, [1])])
write("text", [h.make_node("Gather", ["table", "input_ids"], ["y"])], [weights("table", 9, 4)], [h.make_tensor_value_info("input_ids", T.INT64, ["batch", "length"])])
write("five-channels", [h.make_node("Relu", ["input"], ["y"])], [], [h.make_tensor_value_info("input", T.FLOAT, [1, 5, 8, 8])])
write("many-at-once", [h.make_node("Relu", ["input"], ["y"])], [], [h.make_tensor_value_info("input", T.FLOAT, [16, 3, 8, 8])])
write("rows", [h.make_node("Relu", ["input"], ["y"])], [], [h.make_tensor_value_info("input", T.FLOAT, [1, 30])])
write("unknown-operator", [h.make_node("Relu", ["input"], ["r"]), h.make_node("GridSample", ["r", "grid"], ["y"])], [weights("grid", 1, 8, 8, 2)])
write("too-small", [h.make_node("Conv", ["input", "w"], ["y"])], [weights("w", 1, 3, 3, 3)], [h.make_tensor_value_info("input", T.FLOAT, [1, 3, 2, 2])])
