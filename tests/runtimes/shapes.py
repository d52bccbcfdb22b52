# SPDX-License-Identifier: Apache-2.0
"""Writes model files of many architectures that llama.cpp can load. The models have the widths of real models, but only a few layers, and their
tensors are holes in a sparse file.

A shape is a function that fills a Model. If the estimate for a shape is not exact, the shape has as many layers as the real
model. Sources for the names of keys and tensors: src/llama-arch.cpp and src/models of llama.cpp v0.5.0.
"""

import struct

TYPES = {"f32": (0, 1, 4), "f16": (1, 1, 2), "q4_0": (2, 32, 18), "q8_0": (8, 32, 34), "q4_K": (12, 256, 144),
         "q6_K": (14, 256, 210), "mxfp4": (39, 32, 17)}


class Model:
    """The keys and tensors of a model file."""

    def __init__(self, architecture, layers, width, vocabulary, context=131072, tied=False, **keys):
        self.architecture = architecture
        self.layers, self.width, self.vocabulary = layers, width, vocabulary
        self.keys = {"general.architecture": architecture, "general.name": architecture, "tokenizer.ggml.model": "none"}
        self.set(block_count=layers, context_length=context, embedding_length=width, vocab_size=vocabulary)
        self.set(**keys)
        self.tensors = {}
        self.tensor("token_embd.weight", width, vocabulary, type="q8_0")
        self.tensor("output_norm.weight", width, type="f32")
        if not tied:
            self.tensor("output.weight", width, vocabulary, type="q8_0")

    def set(self, **keys):
        for key, value in keys.items():
            self.keys[f"{self.architecture}.{key.replace('__', '.')}"] = value

    def tensor(self, name, *shape, type="q4_0"):
        self.tensors[name] = (shape, type)

    def block(self, layer, name, *shape, type=None):
        """Adds a tensor of a layer. Tensors with one dimension have the type f32 by default, as in the converter's output."""
        self.tensor(f"blk.{layer}.{name}", *shape, type=type or ("q4_0" if len(shape) > 1 else "f32"))

    def norms(self, layer, *names):
        for name in names:
            self.block(layer, f"{name}.weight", self.width)

    def attention(self, layer, heads, kv_heads, length, bias=False, head_norm=False, value_length=None, gate=1):
        value_length = value_length or length
        self.block(layer, "attn_q.weight", self.width, heads * length * gate)
        self.block(layer, "attn_k.weight", self.width, kv_heads * length)
        self.block(layer, "attn_v.weight", self.width, kv_heads * value_length)
        self.block(layer, "attn_output.weight", heads * value_length, self.width)
        if bias:
            self.block(layer, "attn_q.bias", heads * length)
            self.block(layer, "attn_k.bias", kv_heads * length)
            self.block(layer, "attn_v.bias", kv_heads * value_length)
        if head_norm:
            self.block(layer, "attn_q_norm.weight", length)
            self.block(layer, "attn_k_norm.weight", length)

    def feed_forward(self, layer, width):
        self.block(layer, "ffn_gate.weight", self.width, width)
        self.block(layer, "ffn_up.weight", self.width, width)
        self.block(layer, "ffn_down.weight", width, self.width)

    def experts(self, layer, count, width, shared=0, bias=False, type="q4_0", gate_shared=False, probability_bias=False):
        self.block(layer, "ffn_gate_inp.weight", self.width, count, type="f32")
        for name in ("gate", "up"):
            self.block(layer, f"ffn_{name}_exps.weight", self.width, width, count, type=type)
        self.block(layer, "ffn_down_exps.weight", width, self.width, count, type=type)
        if bias:
            self.block(layer, "ffn_gate_inp.bias", count)
            self.block(layer, "ffn_gate_exps.bias", width, count, type="f32")
            self.block(layer, "ffn_up_exps.bias", width, count, type="f32")
            self.block(layer, "ffn_down_exps.bias", self.width, count, type="f32")
        if probability_bias:
            self.block(layer, "exp_probs_b.bias", count)
        if gate_shared:
            self.block(layer, "ffn_gate_inp_shexp.weight", self.width)
        if shared:
            for name in ("gate", "up"):
                self.block(layer, f"ffn_{name}_shexp.weight", self.width, shared)
            self.block(layer, "ffn_down_shexp.weight", shared, self.width)

    def header(self):
        """Returns the header of the file, and the number of bytes of tensors after it."""
        head, offset = [b"GGUF" + struct.pack("<IQQ", 3, len(self.tensors), len(self.keys))], 0
        for key, value in self.keys.items():
            head.append(_text(key) + _value(value))
        for name, (shape, kind) in self.tensors.items():
            number, block, size = TYPES[kind]
            assert shape[0] % block == 0, (name, shape)
            head.append(_text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, number, offset))
            rows = 1
            for length in shape[1:]:
                rows *= length
            offset += (shape[0] // block * size * rows + 31) // 32 * 32
        header = b"".join(head)
        return header + bytes(-len(header) % 32), offset

    def write(self, path):
        header, size = self.header()
        with open(path, "wb") as file:
            file.write(header)
            file.truncate(len(header) + size)

    def in_type(self, kind, **others):
        """Changes the type of all matrices. `others` contains different types for some matrices, by the name of the matrix."""
        for name, (shape, _) in self.tensors.items():
            if len(shape) > 1:
                self.tensors[name] = (shape, others.get(name.removesuffix(".weight"), kind))
        return self


def _text(text):
    raw = text if isinstance(text, bytes) else text.encode()
    return struct.pack("<Q", len(raw)) + raw


def _value(value):
    if isinstance(value, bool):
        return struct.pack("<I?", 7, value)
    if isinstance(value, int):
        return struct.pack("<II", 4, value)
    if isinstance(value, float):
        return struct.pack("<If", 6, value)
    if isinstance(value, (str, bytes)):
        return struct.pack("<I", 8) + _text(value)
    if isinstance(value[0], str):
        return struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(_text, value))
    if isinstance(value[0], float):
        return struct.pack(f"<IIQ{len(value)}f", 9, 6, len(value), *value)
    if isinstance(value[0], bool):
        return struct.pack(f"<IIQ{len(value)}?", 9, 7, len(value), *value)
    return struct.pack(f"<IIQ{len(value)}i", 9, 5, len(value), *value)


SHAPES = {}


def shape(function):
    SHAPES[function.__name__.replace("_", "-")] = function
    return function


RMS = {"attention__layer_norm_rms_epsilon": 1e-6}


def dense(architecture, layers, width, vocabulary, heads, kv_heads, length, inner, tied=False, bias=False,
          head_norm=False, extra_norms=(), **keys):
    model = Model(architecture, layers, width, vocabulary, tied=tied, feed_forward_length=inner,
                  attention__head_count=heads, attention__head_count_kv=kv_heads, attention__key_length=length,
                  attention__value_length=length, rope__dimension_count=length, **RMS, **keys)
    for i in range(layers):
        model.norms(i, "attn_norm", "ffn_norm", *extra_norms)
        model.attention(i, heads, kv_heads, length, bias=bias, head_norm=head_norm)
        model.feed_forward(i, inner)
    return model


@shape
def llama_8b():
    return dense("llama", 8, 4096, 128256, 32, 8, 128, 14336)


@shape
def llama_1b():
    return dense("llama", 16, 2048, 128256, 32, 8, 64, 8192, tied=True)


@shape
def llama_70b():
    return dense("llama", 3, 8192, 128256, 64, 8, 128, 28672)


@shape
def llama_small_vocabulary():
    return dense("llama", 8, 4096, 4096, 32, 8, 128, 11008)


@shape
def qwen2_7b():
    return dense("qwen2", 6, 3584, 152064, 28, 4, 128, 18944, bias=True)


@shape
def qwen3_32b():
    return dense("qwen3", 4, 5120, 151936, 64, 8, 128, 25600, head_norm=True)


@shape
def mistral_24b():
    return dense("llama", 4, 5120, 131072, 32, 8, 128, 32768)


@shape
def qwen3_moe():
    model = Model("qwen3moe", 4, 2048, 151936, feed_forward_length=6144, expert_count=128, expert_used_count=8,
                  expert_feed_forward_length=768, attention__head_count=32, attention__head_count_kv=4,
                  attention__key_length=128, attention__value_length=128, **RMS)
    for i in range(4):
        model.norms(i, "attn_norm", "ffn_norm")
        model.attention(i, 32, 4, 128, head_norm=True)
        model.experts(i, 128, 768)
    return model


@shape
def mixtral():
    model = Model("llama", 3, 4096, 32000, feed_forward_length=14336, expert_count=8, expert_used_count=2,
                  attention__head_count=32, attention__head_count_kv=8, rope__dimension_count=128, **RMS)
    for i in range(3):
        model.norms(i, "attn_norm", "ffn_norm")
        model.attention(i, 32, 8, 128)
        model.experts(i, 8, 14336)
    return model


@shape
def gemma2_9b():
    return dense("gemma2", 6, 3584, 256000, 16, 8, 256, 14336, tied=True, attention__sliding_window=4096,
                 attn_logit_softcapping=50.0, final_logit_softcapping=30.0,
                 extra_norms=("post_attention_norm", "post_ffw_norm"))


@shape
def gemma3_12b():
    return dense("gemma3", 6, 3840, 262144, 16, 8, 256, 15360, tied=True, head_norm=True,
                 attention__sliding_window=1024, extra_norms=("post_attention_norm", "post_ffw_norm"))


@shape
def cohere2_7b():
    model = Model("cohere2", 4, 4096, 256000, tied=True, feed_forward_length=14336, attention__head_count=32,
                  attention__head_count_kv=8, attention__key_length=128, attention__value_length=128,
                  attention__sliding_window=4096, attention__layer_norm_epsilon=1e-5, logit_scale=0.25,
                  rope__dimension_count=128)
    for i in range(4):
        model.norms(i, "attn_norm")
        model.attention(i, 32, 8, 128)
        model.feed_forward(i, 14336)
    return model


@shape
def gpt_oss_20b():
    model = Model("gpt-oss", 24, 2880, 201088, feed_forward_length=2880, expert_count=32, expert_used_count=4,
                  expert_feed_forward_length=2880, attention__head_count=64, attention__head_count_kv=8,
                  attention__key_length=64, attention__value_length=64, attention__sliding_window=128,
                  rope__dimension_count=64, **RMS)
    for i in range(24):
        model.norms(i, "attn_norm", "post_attention_norm")
        model.attention(i, 64, 8, 64, bias=True)
        model.block(i, "attn_output.bias", 2880)
        model.block(i, "attn_sinks.weight", 64)
        model.experts(i, 32, 2880, bias=True, type="mxfp4")
    return model


@shape
def phi3_mini():
    model = Model("phi3", 6, 3072, 32064, feed_forward_length=8192, attention__head_count=32,
                  attention__head_count_kv=32, rope__dimension_count=96, attention__sliding_window=0, **RMS)
    for i in range(6):
        model.norms(i, "attn_norm", "ffn_norm")
        model.block(i, "attn_qkv.weight", 3072, 3 * 3072)
        model.block(i, "attn_output.weight", 3072, 3072)
        model.block(i, "ffn_up.weight", 3072, 2 * 8192)
        model.block(i, "ffn_down.weight", 8192, 3072)
    return model


@shape
def olmo2_7b():
    model = Model("olmo2", 4, 4096, 100352, feed_forward_length=11008, attention__head_count=32,
                  attention__head_count_kv=32, rope__dimension_count=128, **RMS)
    for i in range(4):
        model.norms(i, "post_attention_norm", "post_ffw_norm", "attn_q_norm", "attn_k_norm")
        model.attention(i, 32, 32, 128)
        model.feed_forward(i, 11008)
    return model


@shape
def command_r():
    model = Model("command-r", 2, 8192, 256000, tied=True, feed_forward_length=22528, attention__head_count=64,
                  attention__head_count_kv=8, attention__layer_norm_epsilon=1e-5, logit_scale=0.0625,
                  rope__dimension_count=128)
    for i in range(2):
        model.norms(i, "attn_norm")
        model.attention(i, 64, 8, 128)
        model.feed_forward(i, 22528)
    return model


@shape
def starcoder2():
    model = Model("starcoder2", 4, 4608, 49152, feed_forward_length=18432, attention__head_count=36,
                  attention__head_count_kv=4, attention__layer_norm_epsilon=1e-5, rope__dimension_count=128)
    model.tensor("output_norm.bias", 4608, type="f32")
    for i in range(4):
        model.norms(i, "attn_norm", "ffn_norm")
        model.attention(i, 36, 4, 128, bias=True)
        model.block(i, "attn_norm.bias", 4608)
        model.block(i, "ffn_norm.bias", 4608)
        model.block(i, "attn_output.bias", 4608)
        model.block(i, "ffn_up.weight", 4608, 18432)
        model.block(i, "ffn_up.bias", 18432)
        model.block(i, "ffn_down.weight", 18432, 4608)
        model.block(i, "ffn_down.bias", 4608)
    return model


def latent(layers, width, vocabulary, heads, query_rank, rank, count, used, expert, shared, inner, with_mla=True):
    rope, nope, value = 64, 128, 128
    model = Model("deepseek2", layers, width, vocabulary, feed_forward_length=inner, expert_count=count,
                  expert_used_count=used, expert_feed_forward_length=expert, expert_shared_count=1,
                  leading_dense_block_count=1, expert_weights_scale=2.5, expert_gating_func=2,
                  attention__head_count=heads, attention__kv_lora_rank=rank, rope__dimension_count=rope, **RMS)
    if with_mla:
        model.set(attention__head_count_kv=1, attention__key_length=rank + rope, attention__value_length=rank,
                  attention__key_length_mla=nope + rope, attention__value_length_mla=value)
    else:
        model.set(attention__head_count_kv=heads, attention__key_length=nope + rope, attention__value_length=value)
    if query_rank:
        model.set(attention__q_lora_rank=query_rank)
    for i in range(layers):
        model.norms(i, "attn_norm", "ffn_norm")
        if query_rank:
            model.block(i, "attn_q_a.weight", width, query_rank)
            model.block(i, "attn_q_a_norm.weight", query_rank)
            model.block(i, "attn_q_b.weight", query_rank, heads * (nope + rope))
        else:
            model.block(i, "attn_q.weight", width, heads * (nope + rope))
        model.block(i, "attn_kv_a_mqa.weight", width, rank + rope)
        model.block(i, "attn_kv_a_norm.weight", rank)
        if with_mla:
            model.block(i, "attn_k_b.weight", nope, rank, heads)
            model.block(i, "attn_v_b.weight", rank, value, heads)
        else:
            model.block(i, "attn_kv_b.weight", rank, heads * (nope + value))
        model.block(i, "attn_output.weight", heads * value, width)
        if i < 1:
            model.feed_forward(i, inner)
        else:
            model.experts(i, count, expert, shared=shared, probability_bias=True)
    return model


@shape
def deepseek_v3():
    return latent(3, 7168, 129280, 128, 1536, 512, 64, 8, 2048, 2048, 18432)


@shape
def deepseek_v2_lite():
    return latent(27, 2048, 102400, 16, 0, 512, 64, 6, 1408, 1408, 10944)


@shape
def deepseek_v2_lite_without_mla():
    return latent(27, 2048, 102400, 16, 0, 512, 64, 6, 1408, 1408, 10944, with_mla=False)


@shape
def glm4_moe():
    model = Model("glm4moe", 4, 4096, 151552, feed_forward_length=10944, expert_count=128, expert_used_count=8,
                  expert_feed_forward_length=1408, expert_shared_count=1, leading_dense_block_count=1,
                  expert_gating_func=2, expert_weights_norm=True, nextn_predict_layers=1,
                  attention__head_count=96, attention__head_count_kv=8, attention__key_length=128,
                  attention__value_length=128, rope__dimension_count=64, **RMS)
    for i in range(4):
        model.norms(i, "attn_norm", "post_attention_norm")
        model.attention(i, 96, 8, 128, bias=True)
        if i < 1:
            model.feed_forward(i, 10944)
        else:
            model.experts(i, 128, 1408, shared=1408, probability_bias=True)
    model.norms(3, "nextn.enorm", "nextn.hnorm", "nextn.shared_head_norm")
    model.block(3, "nextn.eh_proj.weight", 8192, 4096)
    return model


def mamba_block(model, i, inner, state, kernel, rank, norms=False):
    model.block(i, "ssm_in.weight", model.width, 2 * inner)
    model.block(i, "ssm_conv1d.weight", kernel, inner, type="f32")
    model.block(i, "ssm_conv1d.bias", inner)
    model.block(i, "ssm_x.weight", inner, rank + 2 * state)
    model.block(i, "ssm_dt.weight", rank, inner)
    model.block(i, "ssm_dt.bias", inner)
    model.block(i, "ssm_a", state, inner, type="f32")
    model.block(i, "ssm_d", inner)
    model.block(i, "ssm_out.weight", inner, model.width)
    if norms:
        model.block(i, "ssm_dt_norm.weight", rank)
        model.block(i, "ssm_b_norm.weight", state)
        model.block(i, "ssm_c_norm.weight", state)


def mamba2_block(model, i, inner, state, kernel, heads, groups):
    convolved = inner + 2 * groups * state
    model.block(i, "ssm_in.weight", model.width, 2 * inner + 2 * groups * state + heads)
    model.block(i, "ssm_conv1d.weight", kernel, convolved, type="f32")
    model.block(i, "ssm_conv1d.bias", convolved)
    model.block(i, "ssm_dt.bias", heads)
    model.block(i, "ssm_a", 1, heads, type="f32")
    model.block(i, "ssm_d", 1, heads, type="f32")
    model.block(i, "ssm_norm.weight", inner // groups, groups, type="f32")
    model.block(i, "ssm_out.weight", inner, model.width)


@shape
def mamba_2_8b():
    model = Model("mamba", 6, 2560, 50280, feed_forward_length=0, attention__head_count=0, ssm__conv_kernel=4,
                  ssm__inner_size=5120, ssm__state_size=16, ssm__time_step_rank=160, **RMS)
    for i in range(6):
        model.norms(i, "attn_norm")
        mamba_block(model, i, 5120, 16, 4, 160)
    return model


@shape
def mamba2():
    model = Model("mamba2", 6, 4096, 32768, feed_forward_length=0, attention__head_count=0, ssm__conv_kernel=4,
                  ssm__inner_size=8192, ssm__state_size=128, ssm__time_step_rank=128, ssm__group_count=8, **RMS)
    for i in range(6):
        model.norms(i, "attn_norm")
        mamba2_block(model, i, 8192, 128, 4, 128, 8)
    return model


@shape
def granite_hybrid():
    kinds = [0, 0, 8, 0, 0, 0]
    model = Model("granitehybrid", 6, 2048, 100352, tied=True, feed_forward_length=8192, attention__head_count=32,
                  attention__head_count_kv=kinds, ssm__conv_kernel=4, ssm__inner_size=4096, ssm__state_size=128,
                  ssm__time_step_rank=64, ssm__group_count=1, embedding_scale=12.0, residual_scale=0.22,
                  attention__scale=0.015625, logit_scale=8.0, rope__dimension_count=64, **RMS)
    for i, heads in enumerate(kinds):
        model.norms(i, "attn_norm", "ffn_norm")
        if heads:
            model.attention(i, 32, 8, 64)
        else:
            mamba2_block(model, i, 4096, 128, 4, 64, 1)
        model.feed_forward(i, 8192)
    return model


@shape
def jamba():
    kinds = [0, 0, 8, 0]
    model = Model("jamba", 4, 4096, 65536, feed_forward_length=14336, attention__head_count=32,
                  attention__head_count_kv=kinds, ssm__conv_kernel=4, ssm__inner_size=8192, ssm__state_size=16,
                  ssm__time_step_rank=256, expert_count=16, expert_used_count=2, **RMS)
    for i, heads in enumerate(kinds):
        model.norms(i, "attn_norm", "ffn_norm")
        if heads:
            model.attention(i, 32, 8, 128)
        else:
            mamba_block(model, i, 8192, 16, 4, 256, norms=True)
        if i % 2:
            model.experts(i, 16, 14336)
        else:
            model.feed_forward(i, 14336)
    return model


@shape
def lfm2():
    kinds = [0, 0, 8, 0]
    model = Model("lfm2", 4, 2048, 65536, tied=True, feed_forward_length=8192, attention__head_count=32,
                  attention__head_count_kv=kinds, shortconv__l_cache=3, rope__dimension_count=64, **RMS)
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
        model.feed_forward(i, 8192)
    return model


@shape
def falcon_h1():
    model = Model("falcon-h1", 4, 2048, 65537 + 31, feed_forward_length=8192, attention__head_count=8,
                  attention__head_count_kv=2, attention__key_length=128, attention__value_length=128,
                  ssm__conv_kernel=4, ssm__inner_size=4096, ssm__state_size=256, ssm__time_step_rank=64,
                  ssm__group_count=1, rope__dimension_count=128, **RMS)
    for i in range(4):
        model.norms(i, "attn_norm")
        model.block(i, "ffn_norm", 2048)
        model.attention(i, 8, 2, 128)
        mamba2_block(model, i, 4096, 256, 4, 64, 1)
        model.feed_forward(i, 8192)
    return model


@shape
def qwen3_next():
    model = Model("qwen3next", 48, 2048, 151936, feed_forward_length=5120, expert_count=64, expert_used_count=10,
                  expert_feed_forward_length=512, expert_shared_feed_forward_length=512, attention__head_count=16,
                  attention__head_count_kv=2, attention__key_length=256, attention__value_length=256,
                  rope__dimension_count=64, ssm__conv_kernel=4, ssm__inner_size=4096, ssm__state_size=128,
                  ssm__time_step_rank=32, ssm__group_count=16, full_attention_interval=4, **RMS)
    for i in range(48):
        model.norms(i, "attn_norm", "post_attention_norm")
        if i % 4 == 3:
            model.attention(i, 16, 2, 256, head_norm=True, gate=2)
        else:
            model.block(i, "attn_qkv.weight", 2048, 2 * 16 * 128 + 4096)
            model.block(i, "attn_gate.weight", 2048, 4096)
            model.block(i, "ssm_conv1d.weight", 4, 8192, type="f32")
            model.block(i, "ssm_dt.bias", 32)
            model.block(i, "ssm_a", 32)
            model.block(i, "ssm_beta_alpha", 0)
            model.block(i, "ssm_ba.weight", 2048, 64)
            model.block(i, "ssm_norm.weight", 128)
            model.block(i, "ssm_out.weight", 4096, 2048)
            del model.tensors[f"blk.{i}.ssm_beta_alpha"]
        model.experts(i, 64, 512, shared=512, gate_shared=True)
    return model


@shape
def rwkv7():
    model = Model("rwkv7", 4, 2048, 65536, feed_forward_length=8192, attention__head_count=0, wkv__head_size=64,
                  attention__layer_norm_epsilon=1e-5, attention__decay_lora_rank=96, attention__iclr_lora_rank=96,
                  attention__value_residual_mix_lora_rank=64, attention__gate_lora_rank=256)
    width = 2048
    model.tensor("output_norm.bias", width, type="f32")
    for name in ("token_embd_norm.weight", "token_embd_norm.bias"):
        model.tensor(name, width, type="f32")
    for i in range(4):
        model.norms(i, "attn_norm", "attn_norm_2")
        for name in ("attn_norm.bias", "attn_norm_2.bias", "time_mix_w0.weight", "time_mix_a0.weight", "time_mix_v0.weight",
                     "time_mix_k_k.weight", "time_mix_k_a.weight", "time_mix_r_k.weight", "time_mix_ln.weight",
                     "time_mix_ln.bias"):
            model.block(i, name, width)
        model.block(i, "time_mix_lerp_fused.weight", width, 1, 1, 6, type="f32")
        for name, rank in (("w", 96), ("a", 96), ("v", 64 if i else 96), ("g", 256)):
            model.block(i, f"time_mix_{name}1.weight", width, rank)
            model.block(i, f"time_mix_{name}2.weight", rank, width)
        for name in ("key", "value", "receptance", "output"):
            model.block(i, f"time_mix_{name}.weight", width, width)
        model.block(i, "channel_mix_lerp_k.weight", width, 1, 1, type="f32")
        model.block(i, "channel_mix_key.weight", width, 8192)
        model.block(i, "channel_mix_value.weight", 8192, width)
    return model


@shape
def llama4():
    model = Model("llama4", 4, 5120, 202048, feed_forward_length=16384, expert_count=16, expert_used_count=1,
                  expert_feed_forward_length=8192, interleave_moe_layer_step=1, attention__head_count=40,
                  attention__head_count_kv=8, attention__key_length=128, attention__value_length=128,
                  rope__dimension_count=128, attention__chunk_size=8192, **RMS)
    for i in range(4):
        model.norms(i, "attn_norm", "ffn_norm")
        model.attention(i, 40, 8, 128)
        model.experts(i, 16, 8192, shared=8192)
    return model


def smallest():
    """Returns a model of a few hundred kilobytes with a vocabulary of single bytes, which every program for GGUF files can load."""
    words = ["<unk>", "<s>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(256)]
    model = dense("llama", 1, 256, len(words), 4, 4, 64, 256)
    model.keys |= {"tokenizer.ggml.model": "llama", "tokenizer.ggml.tokens": words, "tokenizer.ggml.scores": [0.0] * len(words),
                   "tokenizer.ggml.token_type": [2, 3, 3] + [6] * 256, "tokenizer.ggml.bos_token_id": 1,
                   "tokenizer.ggml.eos_token_id": 2}
    return model


# The models in tests/data/models, complete and in Q4_K like the published files.
PUBLISHED = {
    "llama-3.1-8b": ("Llama 3.1 8B", lambda: dense("llama", 32, 4096, 128256, 32, 8, 128, 14336)),
    "qwen2.5-14b": ("Qwen2.5 14B", lambda: dense("qwen2", 48, 5120, 152064, 40, 8, 128, 13824, bias=True, context_length=32768)),
    "qwen3-32b": ("Qwen3 32B", lambda: dense("qwen3", 64, 5120, 151936, 64, 8, 128, 25600, head_norm=True, context_length=40960)),
    "gemma-3-27b": ("Gemma 3 27B", lambda: dense(
        "gemma3", 62, 5376, 262208, 32, 16, 128, 21504, tied=True, head_norm=True, attention__sliding_window=1024,
        extra_norms=("post_attention_norm", "post_ffw_norm"))),
}


def published(name):
    title, made = PUBLISHED[name]
    model = made().in_type("q4_K", output="q6_K")
    model.keys["general.name"] = title
    if model.architecture in ("llama", "qwen2"):  # the head length follows from the width
        for key in ("attention.key_length", "attention.value_length"):
            del model.keys[f"{model.architecture}.{key}"]
    return model


if __name__ == "__main__":
    import pathlib
    import sys

    for name in PUBLISHED:
        (pathlib.Path(sys.argv[1]) / f"{name}.header.gguf").write_bytes(published(name).header()[0])
