# SPDX-License-Identifier: Apache-2.0
"""Adds shapes to shapes.SHAPES: models without a cache, and models with an encoder."""
from shapes import RMS, Model, dense, shape

LAYER_NORM = {"attention__layer_norm_epsilon": 1e-12}


def bert_norms(model, layer):
    for name in ("attn_output_norm", "layer_output_norm"):
        model.norms(layer, name)
        model.block(layer, f"{name}.bias", model.width)


def embedded(model, *norms):
    """Adds the tensors that precede the first layer."""
    for name in norms:
        model.tensor(f"token_embd_norm.{name}", model.width, type="f32")
    return model


@shape
def bert_large():
    model = Model("bert", 24, 1024, 30522, context=512, tied=True, feed_forward_length=4096, attention__head_count=16,
                  attention__causal=False, pooling_type=1, **LAYER_NORM)
    model.keys["tokenizer.ggml.token_type_count"] = 2
    del model.tensors["output_norm.weight"]
    model.tensor("position_embd.weight", 1024, 512, type="f32")
    model.tensor("token_types.weight", 1024, 2, type="f32")
    embedded(model, "weight", "bias")
    for i in range(24):
        model.attention(i, 16, 16, 64, bias=True)
        model.block(i, "attn_output.bias", 1024)
        bert_norms(model, i)
        model.block(i, "ffn_up.weight", 1024, 4096)
        model.block(i, "ffn_up.bias", 4096)
        model.block(i, "ffn_down.weight", 4096, 1024)
        model.block(i, "ffn_down.bias", 1024)
    return model


@shape
def modern_bert():
    model = Model("modern-bert", 22, 768, 50368, context=8192, tied=True, feed_forward_length=1152,
                  attention__head_count=12, attention__sliding_window=128, attention__sliding_window_pattern=3,
                  attention__causal=False, pooling_type=2, rope__freq_base=160000.0, rope__freq_base_swa=10000.0,
                  rope__dimension_count=64, **LAYER_NORM)
    embedded(model, "weight")
    for i in range(22):
        model.norms(i, *(["attn_norm"] if i else []), "ffn_norm")
        model.block(i, "attn_qkv.weight", 768, 3 * 768)
        model.block(i, "attn_output.weight", 768, 768)
        model.block(i, "ffn_up.weight", 768, 2304)
        model.block(i, "ffn_down.weight", 1152, 768)
    return model.in_type("f16")


@shape
def nomic_bert():
    model = Model("nomic-bert", 12, 768, 30522, context=2048, tied=True, feed_forward_length=3072,
                  attention__head_count=12, attention__causal=False, pooling_type=1, rope__freq_base=1000.0,
                  rope__dimension_count=64, **LAYER_NORM)
    del model.tensors["output_norm.weight"]
    model.keys["tokenizer.ggml.token_type_count"] = 2
    model.tensor("token_types.weight", 768, 2, type="f32")
    embedded(model, "weight", "bias")
    for i in range(12):
        model.block(i, "attn_qkv.weight", 768, 3 * 768)
        model.block(i, "attn_output.weight", 768, 768)
        model.feed_forward(i, 3072)
        bert_norms(model, i)
    return model.in_type("f16")


@shape
def embedding_gemma():
    return dense("gemma-embedding", 24, 768, 262144, 3, 1, 256, 1152, tied=True, head_norm=True, context=2048,
                 extra_norms=("post_attention_norm", "post_ffw_norm"), attention__sliding_window=512, pooling_type=1)


@shape
def eurobert():
    return dense("eurobert", 12, 768, 128256, 12, 12, 64, 3072, tied=True, pooling_type=1)


@shape
def dream():
    return dense("dream", 4, 3584, 152064, 28, 4, 128, 18944, bias=True)


@shape
def llada():
    return dense("llada", 4, 4096, 126464, 32, 32, 128, 12288)


def t5(architecture, layers, width, heads, inner, is_gated):
    halves = ("enc", "dec") if architecture == "t5" else ("enc",)
    model = Model(architecture, layers, width, 32128, context=512, tied=len(halves) < 2, feed_forward_length=inner,
                  attention__head_count=heads, attention__key_length=64, attention__value_length=64,
                  attention__relative_buckets_count=32, attention__layer_norm_epsilon=1e-6, decoder_start_token_id=0, **RMS)
    del model.tensors["output_norm.weight"]
    for half in halves:
        model.tensor(f"{half}.output_norm.weight", width, type="f32")
        model.tensor(f"{half}.blk.0.attn_rel_b.weight", heads, 32, type="f32")
        for i in range(layers):
            for name in ("attn", "cross_attn") if half == "dec" else ("attn",):
                model.tensor(f"{half}.blk.{i}.{name}_norm.weight", width, type="f32")
                for letter in "qkvo":
                    model.tensor(f"{half}.blk.{i}.{name}_{letter}.weight", width, width)
            model.tensor(f"{half}.blk.{i}.ffn_norm.weight", width, type="f32")
            for name in ("gate", "up") if is_gated else ("up",):
                model.tensor(f"{half}.blk.{i}.ffn_{name}.weight", width, inner)
            model.tensor(f"{half}.blk.{i}.ffn_down.weight", inner, width)
    return model


@shape
def t5_large():
    return t5("t5", 24, 1024, 16, 4096, is_gated=False)


@shape
def t5_xxl():
    return t5("t5", 24, 4096, 64, 10240, is_gated=True)


@shape
def t5_encoder():
    return t5("t5encoder", 24, 4096, 64, 10240, is_gated=True)
