"""A part of ONNX's backend suite that touches every operator the small models do not."""

import pytest

from compiler.frontend.onnx.operators import OPERATORS
from tests.frontend.test_onnx_graphs import PROGRAMS, model
from tests.frontend.test_onnx_operators import MODELS
from tests.onnx_suite.node_cases import cases_of, exclusions, launches_of

# Module of onnx -> its tests.
SUBSET = {
    "acos": ["acos"],
    "acosh": ["acosh"],
    "adagrad": ["adagrad_multiple"],
    "adam": ["adam_multiple"],
    "affinegrid": ["affine_grid_3d_align_corners"],
    "ai_onnx_ml.array_feature_extractor": ["ai_onnx_ml_array_feature_extractor"],
    "asin": ["asin"],
    "asinh": ["asinh"],
    "atan": ["atan"],
    "atanh": ["atanh"],
    "attention": ["attention_4d_with_past_and_present", "attention_3d_gqa_softcap"],
    "bitcast": ["bitcast_float32_to_int32"],
    "bitshift": ["bitshift_right_uint8"],
    "castlike": ["castlike_FLOAT_to_BFLOAT16"],
    "celu": ["celu"],
    "col2im": ["col2im_5d"],
    "compress": ["compress_1"],
    "convinteger": ["convinteger_with_padding"],
    "convtranspose": ["convtranspose_group_2", "convtranspose_output_shape"],
    "cumprod": ["cumprod_1d_reverse_exclusive"],
    "cumsum": ["cumsum_2d_axis_1"],
    "deformconv": ["deform_conv_with_multiple_offset_groups"],
    "depthtospace": ["depthtospace_crd_mode_example"],
    "dequantizelinear": ["dequantizelinear_blocked"],
    "det": ["det_nd"],
    "dft": ["dft_opset19"],
    "einsum": ["einsum_batch_diagonal"],
    "eyelike": ["eyelike_populate_off_main_diagonal"],
    "gatherelements": ["gather_elements_negative_indices"],
    "gathernd": ["gathernd_example_int32_batch_dim1"],
    "gelu": ["gelu_tanh_2"],
    "gridsample": ["gridsample_bicubic", "gridsample_reflection_padding"],
    "groupnormalization": ["group_normalization_epsilon"],
    "gru": ["gru_seq_length"],
    "hardmax": ["hardmax_one_hot"],
    "if_": ["if", "if_seq", "if_opt"],
    "isinf": ["isinf_negative"],
    "loop": ["loop11", "loop13_seq"],
    "lpnormalization": ["l1normalization_axis_0"],
    "lrn": ["lrn"],
    "lstm": ["lstm_with_peepholes", "lstm_bidirectional"],
    "matmulinteger": ["matmulinteger"],
    "maxunpool": ["maxunpool_export_with_output_shape"],
    "melweightmatrix": ["melweightmatrix"],
    "mish": ["mish"],
    "momentum": ["nesterov_momentum", "momentum_multiple"],
    "negativeloglikelihoodloss": ["nllloss_NCd1d2_with_weight_reduction_mean"],
    "nonmaxsuppression": ["nonmaxsuppression_two_batches"],
    "nonzero": ["nonzero_example"],
    "onehot": ["onehot_negative_indices"],
    "optionalgetelement": ["optional_get_element_optional_tensor"],
    "optionalhaselement": ["optional_has_element_tensor_input"],
    "qlinearconv": ["qlinearconv"],
    "qlinearmatmul": ["qlinearmatmul_3D_uint8_float32"],
    "quantizelinear": ["quantizelinear_blocked_asymmetric"],
    "resize": ["resize_downsample_scales_cubic_antialias", "resize_tf_crop_and_resize"],
    "reversesequence": ["reversesequence_batch"],
    "rmsnormalization": ["rms_normalization_4d_axis1"],
    "rnn": ["rnn_seq_length"],
    "roialign": ["roialign_aligned_true", "roialign_mode_max"],
    "rotaryembedding": ["rotary_embedding_interleaved"],
    "scan": ["scan_sum", "scan9_sum"],
    "scatter": ["scatter_with_axis"],
    "scatterelements": ["scatter_elements_with_reduction_max"],
    "scatternd": ["scatternd_add"],
    "selu": ["selu"],
    "sequence_map": ["sequence_map_add_2_sequences_expanded"],
    "shrink": ["shrink_soft"],
    "softmax_cross_entropy_loss": ["sce_mean_weight_ii_3d_log_prob"],
    "softsign": ["softsign"],
    "spacetodepth": ["spacetodepth"],
    "splittosequence": ["split_to_sequence_nokeepdims"],
    "stft": ["stft_with_window"],
    "swish": ["swish"],
    "tensorscatter": ["tensorscatter_circular"],
    "thresholdedrelu": ["thresholdedrelu"],
    "topk": ["top_k_smallest"],
    "trilu": ["tril_neg"],
    "unique": ["unique_sorted_with_negative_axis", "unique_not_sorted_without_axis"],
    "upsample": ["upsample_nearest"],
}  # fmt: skip
NAMES = [f"test_{name}_cpu" for names in SUBSET.values() for name in names]
COMPILED = ["test_lstm_with_peepholes_cpu", "test_top_k_smallest_cpu", "test_loop11_cpu"]
RANDOM = {"Bernoulli", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"}
WITHOUT_KERNELS = {  # they choose among what is given
    "test_if_cpu",
    "test_if_opt_cpu",
    "test_if_seq_cpu",
    "test_optional_get_element_optional_tensor_cpu",
}


@pytest.fixture(scope="module")
def cases():
    """The cases of the modules above."""
    return cases_of(*SUBSET)


@pytest.mark.parametrize("name", NAMES)
def test_a_node_test_of_onnx_passes(cases, name):
    assert launches_of(cases[name], "reference") > 0 or name in WITHOUT_KERNELS


@pytest.mark.parametrize("name", COMPILED)
def test_a_node_test_of_onnx_passes_compiled(cases, name):
    assert launches_of(cases[name], "llvm") > 0


def test_every_operator_is_in_a_small_model_or_in_the_subset(cases):
    tested = {node.op for model, _ in MODELS.values() for node in model.nodes}
    graphs = [cases[name].model.graph for name in NAMES]
    graphs += [model(text).proto.graph for text in PROGRAMS.values()]
    while graphs:
        for node in graphs.pop().node:
            tested.add(node.op_type)
            graphs.extend([item.g for item in node.attribute if item.HasField("g")])
    tested |= RANDOM
    assert {name.rpartition(".")[2] for name in OPERATORS} - tested == set()


def test_every_exclusion_has_a_reason_of_its_own_words():
    reasons = set(exclusions().values())
    assert all(len(reason.split()) > 3 for reason in reasons)
