# SPDX-License-Identifier: Apache-2.0
"""Adds shapes to shapes.SHAPES: models whose layers differ in kind, width or window."""
import shapes
from shapes import RMS, Model, dense, mamba2_block, shape

shapes.TYPES.setdefault("i32", (26, 1, 4))


@shape
def kimi_linear():
    kinds = [1 if i % 4 == 3 or i == 26 else 0 for i in range(27)]
    model = Model("kimi-linear", 27, 2304, 163840, feed_forward_length=9216, expert_count=256, expert_used_count=8,
                  expert_feed_forward_length=1024, expert_shared_count=1, leading_dense_block_count=1,
                  expert_gating_func=2, expert_weights_scale=2.446, attention__head_count=32,
                  attention__head_count_kv=kinds, attention__kv_lora_rank=512, attention__key_length=576,
                  attention__value_length=512, attention__key_length_mla=192, attention__value_length_mla=128,
                  rope__dimension_count=64, ssm__conv_kernel=4, kda__head_dim=128, **RMS)
    for i, attends in enumerate(kinds):
        model.norms(i, "attn_norm", "ffn_norm")
        if attends:
            model.block(i, "attn_q.weight", 2304, 32 * 192)
            model.block(i, "attn_kv_a_mqa.weight", 2304, 576)
            model.block(i, "attn_kv_a_norm.weight", 512)
            model.block(i, "attn_k_b.weight", 128, 512, 32)
            model.block(i, "attn_v_b.weight", 512, 128, 32)
        else:
            for letter in "qkv":
                model.block(i, f"attn_{letter}.weight", 2304, 4096)
                model.block(i, f"ssm_conv1d_{letter}.weight", 4, 1, 4096, type="f32")
            for letter in "fg":
                model.block(i, f"ssm_{letter}_a.weight", 2304, 128)
                model.block(i, f"ssm_{letter}_b.weight", 128, 4096)
            model.block(i, "ssm_beta.weight", 2304, 32)
            model.block(i, "ssm_a", 1, 32, type="f32")
            model.block(i, "ssm_dt.bias", 4096)
            model.block(i, "ssm_norm.weight", 128)
        model.block(i, "attn_output.weight", 4096, 2304)
        if i < 1:
            model.feed_forward(i, 9216)
        else:
            model.experts(i, 256, 1024, shared=1024, probability_bias=True)
    return model


@shape
def nemotron_h_8b():
    kinds = "M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-"
    model = Model("nemotron_h", len(kinds), 4096, 131072, context=8192,
                  feed_forward_length=[21504 if kind == "-" else 0 for kind in kinds], attention__head_count=32,
                  attention__head_count_kv=[8 if kind == "*" else 0 for kind in kinds], attention__key_length=128,
                  attention__value_length=128, ssm__conv_kernel=4, ssm__inner_size=8192, ssm__state_size=128,
                  ssm__time_step_rank=128, ssm__group_count=8, rope__dimension_count=128,
                  attention__layer_norm_epsilon=1e-5, **RMS)
    for i, kind in enumerate(kinds):
        model.norms(i, "attn_norm")
        if kind == "M":
            mamba2_block(model, i, 8192, 128, 4, 128, 8)
        elif kind == "*":
            model.attention(i, 32, 8, 128)
        else:
            model.block(i, "ffn_up.weight", 4096, 21504)
            model.block(i, "ffn_down.weight", 21504, 4096)
    return model


@shape
def minimax_01():
    model = Model("minimax-01", 80, 6144, 200064, feed_forward_length=9216, expert_count=8, expert_used_count=2,
                  attention__head_count=64, attention__head_count_kv=8, attention__key_length=128,
                  attention__value_length=128, rope__dimension_count=64, residual_scale=3.5, **RMS)
    for i in range(80):
        model.norms(i, "attn_norm", "ffn_norm")
        if i % 8 == 7:
            model.attention(i, 64, 8, 128)
        else:
            model.block(i, "attn_norm_2.weight", 8192)
            model.block(i, "attn_qkv.weight", 6144, 3 * 8192)
            model.block(i, "attn_gate.weight", 6144, 8192)
            model.block(i, "attn_output.weight", 8192, 6144)
        model.experts(i, 8, 9216)
    return model


def next_token(model, layer):
    model.norms(layer, "nextn.enorm", "nextn.hnorm", "nextn.shared_head_norm")
    model.block(layer, "nextn.eh_proj.weight", 2 * model.width, model.width)


@shape
def qwen35_with_next_token():
    model = Model("qwen35", 33, 2560, 248320, feed_forward_length=9216, attention__head_count=16,
                  attention__head_count_kv=4, attention__key_length=256, attention__value_length=256,
                  rope__dimension_count=64, rope__dimension_sections=[11, 11, 10, 0], ssm__conv_kernel=4,
                  ssm__inner_size=4096, ssm__state_size=128, ssm__time_step_rank=32, ssm__group_count=16,
                  full_attention_interval=4, nextn_predict_layers=1, **RMS)
    for i in range(33):
        model.norms(i, "attn_norm", "post_attention_norm")
        if i % 4 == 3 or i == 32:
            model.attention(i, 16, 4, 256, head_norm=True, gate=2)
        else:
            model.block(i, "attn_qkv.weight", 2560, 8192)
            model.block(i, "attn_gate.weight", 2560, 4096)
            model.block(i, "ssm_conv1d.weight", 4, 8192, type="f32")
            model.block(i, "ssm_dt.bias", 32)
            model.block(i, "ssm_a", 32)
            model.block(i, "ssm_beta.weight", 2560, 32)
            model.block(i, "ssm_alpha.weight", 2560, 32)
            model.block(i, "ssm_norm.weight", 128)
            model.block(i, "ssm_out.weight", 4096, 2560)
        model.feed_forward(i, 9216)
    next_token(model, 32)
    return model


@shape
def step35():
    windowed = [i % 4 != 0 for i in range(9)]
    heads = [96 if is_windowed else 64 for is_windowed in windowed]
    model = Model("step35", 9, 4096, 128896, feed_forward_length=11264, expert_count=16, expert_used_count=8,
                  expert_feed_forward_length=1280, expert_shared_feed_forward_length=1280, attention__head_count=heads,
                  attention__head_count_kv=8, attention__key_length=128, attention__value_length=128,
                  attention__sliding_window=512, attention__sliding_window_pattern=windowed,
                  rope__dimension_count=128, nextn_predict_layers=1, **RMS)
    for i in range(9):
        model.norms(i, "attn_norm", "ffn_norm")
        model.attention(i, heads[i], 8, 128, head_norm=True)
        model.block(i, "attn_gate.weight", 4096, heads[i])
        if i < 2 or i == 8:
            model.feed_forward(i, 11264)
        else:
            model.experts(i, 16, 1280, shared=1280, probability_bias=True)
    next_token(model, 8)
    return model


@shape
def glm_5():
    heads, query, rank, rope, plain, value = 64, 2048, 512, 64, 192, 256
    model = Model("glm-dsa", 21, 6144, 154880, context=202752, feed_forward_length=12288, expert_count=32,
                  expert_used_count=8, expert_feed_forward_length=2048, expert_shared_count=1,
                  leading_dense_block_count=1, expert_gating_func=2, expert_weights_scale=2.5,
                  expert_weights_norm=True, nextn_predict_layers=1, attention__head_count=heads,
                  attention__head_count_kv=1, attention__q_lora_rank=query, attention__kv_lora_rank=rank,
                  attention__key_length=rank + rope, attention__value_length=rank,
                  attention__key_length_mla=plain + rope, attention__value_length_mla=value,
                  attention__indexer__head_count=32, attention__indexer__key_length=128,
                  attention__indexer__top_k=2048, rope__dimension_count=rope, attention__layer_norm_epsilon=1e-6, **RMS)
    for i in range(21):
        model.norms(i, "attn_norm", "ffn_norm")
        model.block(i, "attn_q_a.weight", 6144, query)
        model.block(i, "attn_q_a_norm.weight", query)
        model.block(i, "attn_q_b.weight", query, heads * (plain + rope))
        model.block(i, "attn_kv_a_mqa.weight", 6144, rank + rope)
        model.block(i, "attn_kv_a_norm.weight", rank)
        model.block(i, "attn_k_b.weight", plain, rank, heads)
        model.block(i, "attn_v_b.weight", rank, value, heads)
        model.block(i, "attn_output.weight", heads * value, 6144)
        model.block(i, "indexer.k_norm.weight", 128)
        model.block(i, "indexer.k_norm.bias", 128)
        model.block(i, "indexer.proj.weight", 6144, 32)
        model.block(i, "indexer.attn_k.weight", 6144, 128)
        model.block(i, "indexer.attn_q_b.weight", query, 32 * 128)
        if i < 1:
            model.feed_forward(i, 12288)
        else:
            model.experts(i, 32, 2048, shared=2048, probability_bias=True)
    next_token(model, 20)
    return model


@shape
def minimax_m3():
    model = Model("minimax-m3", 60, 6144, 200064, feed_forward_length=12288, expert_count=16, expert_used_count=4,
                  expert_feed_forward_length=3072, expert_shared_count=1, leading_dense_block_count=1,
                  expert_gating_func=2, expert_weights_scale=2.0, expert_weights_norm=True, attention__head_count=64,
                  attention__head_count_kv=4, attention__key_length=128, attention__value_length=128,
                  rope__dimension_count=64, attention__indexer__head_count=4, attention__indexer__key_length=128,
                  attention__indexer__top_k=16, attention__indexer__block_size=128,
                  attention__indexer__local_blocks=1, **RMS)
    for i in range(60):
        model.norms(i, "attn_norm", "ffn_norm")
        model.attention(i, 64, 4, 128, head_norm=True)
        if i < 1:
            model.feed_forward(i, 12288)
            continue
        model.experts(i, 16, 3072, shared=3072, probability_bias=True)
        model.block(i, "indexer.q_proj.weight", 6144, 512)
        model.block(i, "indexer.k_proj.weight", 6144, 128)
        model.block(i, "indexer.q_norm.weight", 128)
        model.block(i, "indexer.k_norm.weight", 128)
    return model


def compressor(model, i, ratio, query):
    twice = 2 if ratio == 4 else 1
    model.block(i, "attn_compressor_kv.weight", 4096, twice * 512)
    model.block(i, "attn_compressor_gate.weight", 4096, twice * 512)
    model.block(i, "attn_compressor_ape.weight", twice * 512, ratio, type="f32")
    model.block(i, "attn_compressor_norm.weight", 512)
    if ratio != 4:
        return
    model.block(i, "indexer.proj.weight", 4096, 64)
    model.block(i, "indexer.attn_q_b.weight", query, 64 * 128)
    model.block(i, "indexer_compressor_kv.weight", 4096, 256)
    model.block(i, "indexer_compressor_gate.weight", 4096, 256)
    model.block(i, "indexer_compressor_ape.weight", 256, 4, type="f32")
    model.block(i, "indexer_compressor_norm.weight", 128)


@shape
def deepseek_v4_flash():
    layers, width, heads, length, query = 43, 4096, 64, 512, 1024
    ratios = [0, 0] + [4 if i % 2 == 0 else 128 for i in range(2, layers)]
    model = Model("deepseek4", layers, width, 129280, context=1048576, feed_forward_length=2048, expert_count=64,
                  expert_used_count=6, expert_feed_forward_length=2048, expert_shared_count=1,
                  expert_weights_scale=1.5, expert_weights_norm=True, expert_gating_func=4,
                  attention__head_count=heads, attention__head_count_kv=1, attention__key_length=length,
                  attention__value_length=length, attention__q_lora_rank=query, attention__sliding_window=128,
                  attention__indexer__head_count=64, attention__indexer__key_length=128,
                  attention__indexer__top_k=512, attention__output_group_count=8, attention__output_lora_rank=1024,
                  attention__compress_rope_freq_base=160000.0, attention__compress_ratios=ratios,
                  hyper_connection__count=4, hyper_connection__sinkhorn_iterations=20, hyper_connection__epsilon=1e-6,
                  hash_layer_count=3, swiglu_clamp_exp=[10.0] * layers, rope__dimension_count=64, **RMS)
    model.tensor("output_hc_fn.weight", 4 * width, 4, type="f32")
    model.tensor("output_hc_base.weight", 4, type="f32")
    model.tensor("output_hc_scale.weight", 1, type="f32")
    for i, ratio in enumerate(ratios):
        model.norms(i, "attn_norm", "ffn_norm")
        model.block(i, "attn_sinks.weight", heads)
        model.block(i, "attn_q_a.weight", width, query)
        model.block(i, "attn_q_a_norm.weight", query)
        model.block(i, "attn_q_b.weight", query, heads * length)
        model.block(i, "attn_kv.weight", width, length)
        model.block(i, "attn_kv_a_norm.weight", length)
        model.block(i, "attn_output_a.weight", heads * length // 8, 8192)
        model.block(i, "attn_output_b.weight", 8192, width)
        for name in ("attn", "ffn"):
            model.block(i, f"hc_{name}_fn.weight", 4 * width, 24, type="f32")
            model.block(i, f"hc_{name}_base.weight", 24)
            model.block(i, f"hc_{name}_scale.weight", 3)
        if ratio:
            compressor(model, i, ratio, query)
        model.experts(i, 64, 2048, shared=2048, probability_bias=i >= 3)
        if i < 3:
            model.block(i, "ffn_gate_tid2eid.weight", 6, 129280, type="i32")
    return model


def gemma_4(layers, width, heads, kv_heads, kv_heads_of_all, inner, extra, shared, window):
    windowed = [(i + 1) % 6 != 0 for i in range(layers)]
    kinds = [kv_heads if is_windowed else kv_heads_of_all for is_windowed in windowed]
    model = Model("gemma4", layers, width, 262144, tied=True, feed_forward_length=inner, attention__head_count=heads,
                  attention__head_count_kv=kinds, attention__key_length=512, attention__value_length=512,
                  attention__key_length_swa=256, attention__value_length_swa=256, attention__sliding_window=window,
                  attention__sliding_window_pattern=windowed, attention__shared_kv_layers=shared,
                  embedding_length_per_layer_input=extra, rope__dimension_count=512, rope__dimension_count_swa=256,
                  final_logit_softcapping=30.0, **RMS)
    model.tensor("rope_freqs.weight", 256, type="f32")
    if extra:
        model.tensor("per_layer_token_embd.weight", extra * layers, 262144, type="q8_0")
        model.tensor("per_layer_model_proj.weight", width, extra * layers)
        model.tensor("per_layer_proj_norm.weight", extra, type="f32")
    for i, is_windowed in enumerate(windowed):
        model.norms(i, "attn_norm", "ffn_norm", "post_attention_norm", "post_ffw_norm")
        model.attention(i, heads, kinds[i], 256 if is_windowed else 512, head_norm=True)
        model.feed_forward(i, inner)
        model.block(i, "layer_output_scale.weight", 1)
        if extra:
            model.block(i, "inp_gate.weight", width, extra)
            model.block(i, "proj.weight", extra, width)
            model.norms(i, "post_norm")
    return model


@shape
def gemma_4_31b():
    return gemma_4(60, 5376, 32, 16, 4, 21504, 0, 0, 1024)


@shape
def gemma_4_e4b():
    return gemma_4(42, 2560, 8, 2, 2, 10240, 256, 18, 512)


@shape
def gemma_2_without_a_window():
    model = dense("gemma2", 12, 3584, 256000, 16, 8, 256, 14336, tied=True,
                  extra_norms=("post_attention_norm", "post_ffw_norm"))
    model.set(attn_logit_softcapping=50.0, final_logit_softcapping=30.0)
    return model


@shape
def exaone_4_1b():
    model = Model("exaone4", 30, 2048, 102400, tied=True, feed_forward_length=4096, attention__head_count=32,
                  attention__head_count_kv=8, attention__key_length=64, attention__value_length=64,
                  attention__sliding_window=4096, rope__dimension_count=64, **RMS)
    for i in range(30):
        model.norms(i, "post_attention_norm", "post_ffw_norm")
        model.attention(i, 32, 8, 64, head_norm=True)
        model.feed_forward(i, 4096)
    return model.in_type("f16")


@shape
def mimo_2():
    windowed = [False, True, True, True, True, False]
    kinds = [8 if is_windowed else 4 for is_windowed in windowed]
    model = Model("mimo2", 6, 4096, 152576, feed_forward_length=16384, expert_count=16, expert_used_count=8,
                  expert_feed_forward_length=2048, attention__head_count=64, attention__head_count_kv=kinds,
                  attention__key_length=192, attention__value_length=128, attention__sliding_window=128,
                  attention__sliding_window_pattern=windowed, rope__dimension_count=64, **RMS)
    for i in range(6):
        model.norms(i, "attn_norm", "ffn_norm")
        model.attention(i, 64, kinds[i], 192, value_length=128)
        if i < 1:
            model.feed_forward(i, 16384)
        else:
            model.experts(i, 16, 2048, probability_bias=True)
    return model


@shape
def cohere_2_moe():
    model = Model("cohere2moe", 9, 2048, 256000, tied=True, feed_forward_length=8192, expert_count=16,
                  expert_used_count=8, expert_feed_forward_length=1024, leading_dense_block_count=1,
                  attention__head_count=16, attention__head_count_kv=8, attention__key_length=128,
                  attention__value_length=128, attention__sliding_window=4096, attention__sliding_window_pattern=4,
                  attention__layer_norm_epsilon=1e-5, logit_scale=0.25, rope__dimension_count=128)
    for i in range(9):
        model.norms(i, "attn_norm")
        model.attention(i, 16, 8, 128)
        if i < 1:
            model.feed_forward(i, 8192)
        else:
            model.experts(i, 16, 1024)
    return model


@shape
def laguna():
    heads = [48 if i % 4 == 0 else 64 for i in range(8)]
    model = Model("laguna", 8, 2048, 100352, feed_forward_length=8192, expert_count=256, expert_used_count=8,
                  expert_feed_forward_length=512, expert_shared_feed_forward_length=512, leading_dense_block_count=1,
                  expert_weights_scale=2.5, expert_weights_norm=True, attention__head_count=heads,
                  attention__head_count_kv=8, attention__key_length=128, attention__value_length=128,
                  attention__sliding_window=512, rope__dimension_count=64, rope__dimension_count_swa=128, **RMS)
    for i in range(8):
        model.norms(i, "attn_norm", "ffn_norm")
        model.attention(i, heads[i], 8, 128, head_norm=True)
        model.block(i, "attn_gate.weight", 2048, heads[i])
        if i < 1:
            model.feed_forward(i, 8192)
        else:
            model.experts(i, 256, 512, shared=512, probability_bias=True)
    return model


@shape
def qwen3_vl():
    return dense("qwen3vl", 36, 4096, 151936, 32, 8, 128, 12288, head_norm=True, n_deepstack_layers=3,
                 rope__dimension_sections=[24, 20, 20, 0])


@shape
def deci():
    kv_heads, inner = [8, 0, 8, 0, 8], [28672, 28672, 5376, 0, 28672]
    model = Model("deci", 5, 8192, 128256, feed_forward_length=inner, attention__head_count=[8 * one for one in kv_heads],
                  attention__head_count_kv=kv_heads, attention__key_length=128, attention__value_length=128,
                  rope__dimension_count=128, **RMS)
    for i in range(5):
        if kv_heads[i]:
            model.norms(i, "attn_norm")
            model.attention(i, 64, 8, 128)
        if inner[i]:
            model.norms(i, "ffn_norm")
            model.feed_forward(i, inner[i])
    return model


@shape
def grok():
    model = Model("grok", 2, 6144, 131072, feed_forward_length=32768, expert_count=8, expert_used_count=2,
                  attention__head_count=48, attention__head_count_kv=8, attention__key_length=128,
                  attention__value_length=128, rope__dimension_count=128, **RMS)
    for i in range(2):
        model.norms(i, "attn_norm", "ffn_norm", "attn_output_norm", "layer_output_norm")
        model.attention(i, 48, 8, 128)
        model.experts(i, 8, 32768)
    return model


@shape
def phi_2():
    model = Model("phi2", 6, 2560, 51200, context=2048, feed_forward_length=10240, attention__head_count=32,
                  attention__head_count_kv=32, attention__layer_norm_epsilon=1e-5, rope__dimension_count=32)
    model.tensor("output_norm.bias", 2560, type="f32")
    model.tensor("output.bias", 51200, type="f32")
    for i in range(6):
        model.norms(i, "attn_norm")
        for name, *sizes in (("attn_qkv", 2560, 3 * 2560), ("attn_output", 2560, 2560), ("ffn_up", 2560, 10240),
                             ("ffn_down", 10240, 2560)):
            model.block(i, f"{name}.weight", *sizes)
            model.block(i, f"{name}.bias", sizes[1])
        model.block(i, "attn_norm.bias", 2560)
    return model
