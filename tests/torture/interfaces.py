# SPDX-License-Identifier: Apache-2.0
"""Finds the methods of a daemon by introspection."""
import dataclasses
import xml.etree.ElementTree as xml

from peer import BUS, NAME, Refused

INTROSPECTABLE = BUS + ".Introspectable"


@dataclasses.dataclass(frozen=True)
class Method:
    path: str
    interface: str
    name: str
    signature: str


def methods_of(peer, path="/"):
    """Yields all methods of all objects."""
    try:
        node = xml.fromstring(peer.call(NAME, path, INTROSPECTABLE, "Introspect")[0])
    except Refused:
        return  # the object was removed in the meantime
    for interface in node.findall("interface"):
        for method in interface.findall("method"):
            signature = "".join(arg.get("type") for arg in method.findall("arg")
                                if arg.get("direction", "in") == "in")
            yield Method(path, interface.get("name"), method.get("name"), signature)
    for child in node.findall("node"):
        yield from methods_of(peer, path.rstrip("/") + "/" + child.get("name"))
