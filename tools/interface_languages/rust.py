# SPDX-License-Identifier: Apache-2.0
"""Generates the types of org.gpuprobe for Rust, and a method of Client for each method."""
import re
import textwrap

KEYWORDS = frozenset("""
abstract as async await become box break const continue do dyn else enum extern false final fn for if impl in let loop macro match mod
move mut override priv pub ref return static struct trait true try type typeof unsafe unsized use virtual where while yield
""".split())
SIMPLE = {"bool": "bool", "float": "f64", "text": "String", "json": "Value"}
HEAD = """use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{words, Client, Result, Stream};
"""


def identifier(name):
    return f"r#{name}" if name in KEYWORDS else name


def variant_name(word):
    return "".join(part[:1].upper() + part[1:] for part in re.split("[-_ ]", word))


def method_name(name):
    return identifier(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower())


def rust_type(kind):
    word = kind["kind"]
    if word in SIMPLE:
        return SIMPLE[word]
    if word == "integer":
        return "u64" if "minimum" in kind or "above" in kind else "i64"
    if word == "named":
        return kind["name"]
    inner = rust_type(kind["item"])
    return {"nullable": f"Option<{inner}>", "list": f"Vec<{inner}>", "map": f"BTreeMap<String, {inner}>"}[word]


def member_type(member):
    kind = member["type"]
    return f"Option<{rust_type(kind)}>" if member.get("optional") and kind["kind"] != "nullable" else rust_type(kind)


def comment(about, indent=""):
    """Returns a documentation comment. Brackets are escaped, because rustdoc would treat them as links."""
    about = re.sub(r"([\[\]<>])", r"\\\1", about)
    lines = [part for line in about.splitlines() for part in textwrap.wrap(line, 92, break_long_words=False, break_on_hyphens=False)]
    return [f"{indent}/// {line}" for line in lines]


def record(name, members, about="", is_input=False):
    """Returns a Rust struct. Members that an older daemon does not send have default values. Members of a request that are not set are not sent."""
    lines = ["", *comment(about), "#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]", "#[serde(default)]", f"pub struct {name} {{"]
    for member in members:
        lines += comment(member["about"], "    ")
        if member.get("optional") or (is_input and member["type"]["kind"] == "nullable"):
            lines.append('    #[serde(skip_serializing_if = "Option::is_none")]')
        lines.append(f"    pub {identifier(member['name'])}: {member_type(member)},")
    return [*lines, "}"]


def words(definition):
    rows = []
    for word in definition["words"]:
        rows += [*comment(definition["about_words"][word], "        "), f'        {variant_name(word)} = "{word}",']
    return ["", "words! {", *comment(definition["about"], "    "), f"    pub enum {definition['name']} {{", *rows, "    }", "}"]


def method(each):
    wire = each["name"]
    name, answer = method_name(wire), f"{wire}Answer"
    takes, given = (f", parameters: &{wire}Parameters", "parameters") if each["parameters"] else ("", "&()")
    lines = comment(each["about"], "    ")
    if each["traits"]["subscribes"]:
        return [*lines, f"    pub fn {name}(&self{takes}) -> Result<Stream<{answer}>> {{", f'        self.stream("{wire}", {given})', "    }"]
    if each["traits"]["reports_progress"]:
        return [*lines, "    /// Calls `on_progress` with the progress, from 0 to 1. The call has no time limit.",
                f"    pub fn {name}(&self{takes}, on_progress: impl FnMut(f64)) -> Result<{answer}> {{",
                f'        self.with_progress("{wire}", {given}, on_progress)', "    }"]
    return [*lines, f"    pub fn {name}(&self{takes}) -> Result<{answer}> {{", f'        self.call("{wire}", {given})', "    }"]


def errors(description):
    """Returns the enumeration of errors, which are matched by the last part of their names."""
    rows = [f'        {short} = "{short}",' for short in description.errors()]
    return ["", "words! {", "    /// The errors of org.gpuprobe: the last parts of their names.", "    pub enum ErrorName {", *rows, "    }", "}"]


def rust(description, made):
    spdx, *made = made
    lines = [f"// {spdx}", *(f"//! {line}" for line in made), "", *HEAD.splitlines()]
    inputs = description.input_names()
    for each in description.of_methods():
        lines += words(each) if each["words"] else record(each["name"], each["members"], each["about"], each["name"] in inputs)
    for each in description.methods:
        if each["parameters"]:
            lines += record(f"{each['name']}Parameters", each["parameters"], f"The parameters of {each['name']}.", is_input=True)
        lines += record(f"{each['name']}Answer", each["result"], each["result_about"])
    methods = [[*method(each), ""] for each in description.methods]
    return "\n".join([*lines, *errors(description), "", "/// The methods of org.gpuprobe.", "impl Client {",
                      *[line for each in methods for line in each][:-1], "}", ""])
