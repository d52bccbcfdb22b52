# SPDX-License-Identifier: Apache-2.0
"""Adds shapes to shapes.SHAPES: older models, models with ALiBi, and small mixtures of experts."""
from shapes import RMS, Model, dense, shape

NORM = {"attention__layer_norm_epsilon": 1e-5}


def classic(architecture, layers, width, vocabulary, heads, inner, kv_heads=None, bias=True, second_norm=True, tied=True, **keys):
    """Returns a model with one matrix for queries, keys and values, and a feed-forward network without a gate."""
    kv_heads = kv_heads or heads
    model = Model(architecture, layers, width, vocabulary, tied=tied, feed_forward_length=inner, attention__head_count=heads,
                  attention__head_count_kv=kv_heads, **NORM, **keys)
    if bias:
        model.tensor("output_norm.bias", width, type="f32")
    for i in range(layers):
        norms = ["attn_norm"] + (["ffn_norm"] if second_norm else [])
        model.norms(i, *norms)
        if bias:
            for name in norms:
                model.block(i, f"{name}.bias", width)
        for name, *sizes in (("attn_qkv", width, width + 2 * kv_heads * (width // heads)), ("attn_output", width, width),
                             ("ffn_up", width, inner), ("ffn_down", inner, width)):
            model.block(i, f"{name}.weight", *sizes)
            if bias and bias != "norms":
                model.block(i, f"{name}.bias", sizes[1])
    return model


@shape
def gpt2_medium():
    model = classic("gpt2", 24, 1024, 50257, 16, 4096, context=1024)
    model.tensor("position_embd.weight", 1024, 1024, type="f32")
    return model


@shape
def mpt_7b():
    return classic("mpt", 8, 4096, 50432, 32, 16384, bias=False, context=8192, attention__max_alibi_bias=8.0)


@shape
def bloom_7b():
    model = classic("bloom", 6, 4096, 250880, 32, 16384, context=2048)
    model.tensor("token_embd_norm.weight", 4096, type="f32")
    model.tensor("token_embd_norm.bias", 4096, type="f32")
    return model


@shape
def falcon_7b():
    return classic("falcon", 6, 4544, 65024, 71, 18176, kv_heads=1, bias="norms", second_norm=False, tied=False)


@shape
def gptneox_20b():
    return classic("gptneox", 4, 6144, 50432, 64, 24576, tied=False, rope__dimension_count=24, use_parallel_residual=True)


@shape
def starcoder_15b():
    model = classic("starcoder", 4, 6144, 49152, 48, 24576, kv_heads=1, context=8192)
    model.tensor("position_embd.weight", 6144, 8192, type="f32")
    return model


@shape
def refact():
    return dense("refact", 6, 2048, 49216, 32, 1, 64, 5632)


@shape
def baichuan_13b():
    return dense("baichuan", 40, 5120, 64000, 40, 40, 128, 13696)


@shape
def openelm_1b():
    heads = [16, 16, 16, 20, 20, 20, 24, 24]
    inner = [1024, 1536, 2048, 2560, 3072, 3584, 4096, 4608]
    model = Model("openelm", 8, 2048, 32000, tied=True, feed_forward_length=inner, attention__head_count=heads,
                  attention__head_count_kv=[count // 4 for count in heads], attention__key_length=64,
                  attention__value_length=64, rope__dimension_count=64, **RMS)
    for i, (count, width) in enumerate(zip(heads, inner)):
        model.norms(i, "attn_norm", "ffn_norm")
        model.block(i, "attn_qkv.weight", 2048, (count + count // 4 * 2) * 64)
        model.block(i, "attn_q_norm.weight", 64)
        model.block(i, "attn_k_norm.weight", 64)
        model.block(i, "attn_output.weight", count * 64, 2048)
        model.feed_forward(i, width)
    return model


@shape
def openelm_of_bytes():
    return openelm_1b().in_type("q8_0")


def gpt_oss(layers, width, experts):
    model = Model("gpt-oss", layers, width, 201088, feed_forward_length=width, expert_count=experts, expert_used_count=4,
                  expert_feed_forward_length=width, attention__head_count=64, attention__head_count_kv=8,
                  attention__key_length=64, attention__value_length=64, attention__sliding_window=128,
                  rope__dimension_count=64, **RMS)
    for i in range(layers):
        model.norms(i, "attn_norm", "post_attention_norm")
        model.attention(i, 64, 8, 64, bias=True)
        model.block(i, "attn_output.bias", width)
        model.block(i, "attn_sinks.weight", 64)
        model.experts(i, experts, width, bias=True, type="mxfp4")
    return model


@shape
def gpt_oss_of_four_layers():
    return gpt_oss(4, 2880, 32)


@shape
def gpt_oss_of_two_layers():
    return gpt_oss(2, 2880, 8)


@shape
def gpt_oss_narrow():
    return gpt_oss(6, 1024, 16)


@shape
def lfm2_moe():
    kinds = [0, 0, 8, 0, 0, 8]
    model = Model("lfm2moe", 6, 2048, 65536, tied=True, feed_forward_length=7168, expert_count=32, expert_used_count=4,
                  expert_feed_forward_length=1792, leading_dense_block_count=2, attention__head_count=32,
                  attention__head_count_kv=kinds, shortconv__l_cache=3, rope__dimension_count=64, expert_gating_func=2, **RMS)
    del model.tensors["output_norm.weight"]
    model.tensor("token_embd_norm.weight", 2048, type="f32")
    for i, heads in enumerate(kinds):
        model.norms(i, "attn_norm", "ffn_norm")
        if heads:
            model.attention(i, 32, 8, 64, head_norm=True)
        else:
            model.block(i, "shortconv.conv.weight", 3, 2048, type="f32")
            model.block(i, "shortconv.in_proj.weight", 2048, 3 * 2048)
            model.block(i, "shortconv.out_proj.weight", 2048, 2048)
        if i < 2:
            model.feed_forward(i, 7168)
        else:
            model.experts(i, 32, 1792, probability_bias=True)
    return model


@shape
def gemma_2b():
    return dense("gemma", 6, 2048, 256000, 8, 1, 256, 16384, tied=True)


@shape
def internlm2_7b():
    return dense("internlm2", 6, 4096, 92544, 32, 8, 128, 14336)


@shape
def smollm3_3b():
    return dense("smollm3", 8, 2048, 128256, 16, 4, 128, 11008, tied=True)


@shape
def granite_8b():
    return dense("granite", 6, 4096, 49152, 32, 8, 128, 12800, tied=True, logit_scale=16.0, residual_scale=0.22,
                 embedding_scale=12.0, attention__scale=0.0078125)


@shape
def exaone_7b():
    return dense("exaone", 6, 4096, 102400, 32, 8, 128, 14336)


@shape
def olmoe_7b():
    model = Model("olmoe", 6, 2048, 50304, feed_forward_length=1024, expert_count=64, expert_used_count=8,
                  attention__head_count=16, attention__head_count_kv=16, rope__dimension_count=128, **RMS)
    for i in range(6):
        model.norms(i, "attn_norm", "ffn_norm", "attn_q_norm", "attn_k_norm")
        model.attention(i, 16, 16, 128)
        model.experts(i, 64, 1024)
    return model


@shape
def qwen2_moe():
    model = Model("qwen2moe", 4, 2048, 151936, feed_forward_length=5632, expert_count=60, expert_used_count=4,
                  expert_feed_forward_length=1408, expert_shared_feed_forward_length=5632, attention__head_count=16,
                  attention__head_count_kv=16, rope__dimension_count=128, **RMS)
    for i in range(4):
        model.norms(i, "attn_norm", "ffn_norm")
        model.attention(i, 16, 16, 128, bias=True)
        model.experts(i, 60, 1408, shared=5632, gate_shared=True)
    return model


@shape
def dbrx():
    model = Model("dbrx", 2, 6144, 100352, feed_forward_length=10752, expert_count=16, expert_used_count=4,
                  attention__head_count=48, attention__head_count_kv=8, attention__clamp_kqv=8.0, **NORM)
    for i in range(2):
        model.norms(i, "attn_norm", "attn_output_norm")
        model.block(i, "attn_qkv.weight", 6144, 6144 + 2 * 8 * 128)
        model.block(i, "attn_output.weight", 6144, 6144)
        model.experts(i, 16, 10752)
    return model
