# SPDX-License-Identifier: Apache-2.0
"""Writes an example call of a method for each interface: as a command, as a message, and in the languages of the clients."""
import json
import re
import shlex
from dataclasses import dataclass

BUS_NAME = "org.gpuprobe.GpuProbe1"
ROOT = "/org/gpuprobe/GpuProbe1"


@dataclass
class Function:
    """A client's function for one method. The function takes the parameters in `first` by position. Callers pass the members of the parameter `inner`
    like the function's own parameters. With `*terms`, each item of the list is an argument."""
    name: str
    first: tuple = ()
    inner: str = ""


# For a method that is not in a table, the client's function has the same name as the method.
PYTHON = {
    "Describe": Function("describe"),
    "ListGpus": Function("gpus"),
    "Select": Function("select", ("application",), "request"),
    "Recommend": Function("recommend", ("application",), "request"),
    "Plan": Function("plan"),
    "Diagnose": Function("doctor"),
    "Query": Function("query", ("*terms",)),
    "GetMemory": Function("memory", ("gpu",)),
    "Probe": Function("probe"),
    "ReportOutcome": Function("report_outcome", ("application", "outcome")),
}
NODE = {
    "Describe": Function("describe"),
    "ListGpus": Function("gpus"),
    "Select": Function("select", ("application",), "request"),
    "Recommend": Function("recommend", ("application",), "request"),
    "Plan": Function("plan", ("need",)),
    "Diagnose": Function("doctor"),
    "Query": Function("query", ("terms",)),
    "GetMemory": Function("memory", ("gpu",)),
    "Probe": Function("probe"),
    "ReportOutcome": Function("reportOutcome", ("application", "outcome")),
}
CPP = {
    "Describe": Function("describe"),
    "ListGpus": Function("gpus"),
    "Select": Function("select", ("application",), "request"),
    "Recommend": Function("recommend", ("application",), "request"),
    "Plan": Function("plan"),
    "Diagnose": Function("doctor"),
    "Query": Function("query", ("terms",)),
    "GetMemory": Function("memory", ("gpu",)),
    "ReportOutcome": Function("report_outcome"),
}
C = {
    "Describe": Function("gpuprobe_describe"),
    "Select": Function("gpuprobe_select", ("application",), "request"),
    "Recommend": Function("gpuprobe_recommend", ("application",), "request"),
    "Diagnose": Function("gpuprobe_diagnose"),
}
# A subscription yields several answers, so the call is not an expression.
SUBSCRIPTION = {
    "Python": ["for change in client.watch(): print(change)"],
    "Node": ["for await (const change of client.watch()) console.log(change);"],
    "C": ["gpuprobe_watch(client)", "gpuprobe_watch_next(client, &json)"],
    "C++": ["client.watch()", "client.next_change()"],
}


def compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def words_given(function, parameters):
    """Returns the arguments: the parameters that the function takes by position, followed by all other parameters by name."""
    left = dict(parameters)
    first = []
    for name in function.first:
        value = left.pop(name.lstrip("*"), None)
        first += value if name.startswith("*") else [value]
    left.update(left.pop(function.inner, {}) if function.inner else {})
    return first, left


# Commands and messages ---------------------------------------------------------------------------------------------

def command(method, parameters):
    words = ["gpuprobectl", "call", method["name"], *([compact(parameters)] if parameters else [])]
    return shlex.join(words)


def message(method, parameters):
    call = {"method": f"org.gpuprobe.{method['name']}", "parameters": parameters}
    return compact({**call, "more": True} if method["traits"]["subscribes"] else call)


# D-Bus -------------------------------------------------------------------------------------------------------------

def arguments(text):
    """Returns (name, signature) of each argument in a string such as "application:s request:a{sv}"."""
    return [tuple(word.split(":")) for word in text.split()]


def gpu_path(gpu):
    return f"{ROOT}/gpu/{re.sub('[^A-Za-z0-9]', '_', gpu)}"


def variant_type(value):
    if isinstance(value, bool):
        return "b"
    if isinstance(value, int):
        return "t" if value >= 0 else "x"
    if isinstance(value, list):
        return "as"
    if isinstance(value, dict):
        return "a{ss}" if all(isinstance(each, str) for each in value.values()) else "a{sv}"
    return "s"


def bus_words(signature, value):
    """Returns a value as arguments for the command line of busctl."""
    if signature == "a{sv}":
        value = value or {}
        return [str(len(value)), *(word for key, each in value.items()
                                   for word in (key, variant_type(each), *bus_words(variant_type(each), each)))]
    if signature == "a{ss}":
        return [str(len(value)), *(word for pair in value.items() for word in pair)]
    if signature in ("as", "ao"):
        items = [gpu_path(each) if signature == "ao" else each for each in value or []]
        return [str(len(items)), *items]
    return [str(value).lower() if isinstance(value, bool) else str(value if value is not None else "")]


def bus_command(method, form, parameters):
    """Returns the call as a busctl command. If there is no parameter with the name of an argument, the argument is a dictionary of the remaining
    parameters."""
    names = {member["name"] for member in method["parameters"]}
    taken = arguments(form["in"])
    left = {name: value for name, value in parameters.items()
            if name not in dict(taken) and not (form["is_of_gpu"] and name == "gpu")}
    words = [word for name, signature in taken
             for word in bus_words(signature, parameters.get(name) if name in names else left)]
    place = gpu_path(parameters["gpu"]) if form["is_of_gpu"] else ROOT
    signature = "".join(kind for _, kind in taken)
    return shlex.join(["busctl", "call", BUS_NAME, place, f"{BUS_NAME}.{'Gpu' if form['is_of_gpu'] else 'Manager'}", form["member"],
                       *([signature] if signature else []), *words])


# Languages ---------------------------------------------------------------------------------------------------------

def python_call(method, parameters):
    function = PYTHON.get(method["name"])
    if not function:
        return f"client.call({', '.join([json.dumps(method['name']), *([python_text(parameters)] if parameters else [])])})"
    first, named = words_given(function, parameters)
    words = [*map(python_text, first), *(f"{name}={python_text(value)}" for name, value in named.items())]
    return f"client.{function.name}({', '.join(words)})"


def python_text(value):
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)}: {python_text(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(python_text, value)) + "]"
    return {True: "True", False: "False", None: "None"}[value] if value is None or isinstance(value, bool) else json.dumps(value)


def node_text(value):
    if value == {}:
        return "{}"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key if key.isidentifier() else json.dumps(key)}: {node_text(each)}" for key, each in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(node_text, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def node_call(method, parameters):
    function = NODE.get(method["name"])
    if not function:
        words = [json.dumps(method["name"]), *([node_text(parameters)] if parameters else [])]
        return f"await client.call({', '.join(words)})"
    first, named = words_given(function, parameters)
    return f"await client.{function.name}({', '.join([*map(node_text, first), *([node_text(named)] if named else [])])})"


def c_text(value):
    """JSON as a string literal of C."""
    return json.dumps(compact(value), ensure_ascii=False) if value else "NULL"


def c_call(method, parameters):
    function = C.get(method["name"], Function("gpuprobe_call"))
    first, named = words_given(function, parameters)
    words = [json.dumps(method["name"])] if function.name == "gpuprobe_call" else list(map(json.dumps, first))
    if function.inner or function.name == "gpuprobe_call":
        words.append(c_text(named))
    return f"{function.name}({', '.join(['client', *words, '&json'])})"


def cpp_text(value):
    """Returns the value in C++. The outer braces of a record initialize the std::optional that contains it."""
    if isinstance(value, dict):
        return "{" + cpp_fields(value) + "}"
    if isinstance(value, list):
        return "{" + ", ".join(map(cpp_text, value)) + "}"
    return json.dumps(value, ensure_ascii=False)


def cpp_fields(members):
    return "{" + ", ".join(f".{name} = {cpp_text(value)}" for name, value in members.items()) + "}"


def cpp_call(method, parameters):
    function = CPP.get(method["name"])
    if not function:
        words = [json.dumps(method["name"]), *([f'R"({compact(parameters)})"'] if parameters else [])]
        return f"client.call({', '.join(words)})"
    first, named = words_given(function, parameters)
    return f"client.{function.name}({', '.join([*map(cpp_text, first), *([cpp_fields(named)] if named else [])])})"


LANGUAGES = {"Python": python_call, "Node": node_call, "C": c_call, "C++": cpp_call}


def calls(method, parameters):
    """Returns {interface: [code, …]} for the same call on each interface that has the method."""
    found = {"gpuprobectl": [command(method, parameters)] if not method["traits"]["subscribes"] else [],
             "D-Bus": [bus_command(method, form, parameters) for form in method["bus"]],
             "socket": [message(method, parameters)]}
    for language, call in LANGUAGES.items():
        found[language] = SUBSCRIPTION[language] if method["traits"]["subscribes"] else [call(method, parameters)]
    return {interface: codes for interface, codes in found.items() if codes}
