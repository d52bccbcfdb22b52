# SPDX-License-Identifier: Apache-2.0
"""Converts lists of PCI device ids from and to strings such as "73a0-73a5 73bf"."""


def hex_id(number):
    return f"{number:04x}"


def runs(numbers):
    """Returns (first, last) of each run of consecutive numbers."""
    found = []
    for number in sorted(set(numbers)):
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return [tuple(pair) for pair in found]


def word_of(first, last):
    if first == last:
        return hex_id(first)
    # Writes two consecutive ids as two ids, because this is as short as a range and easier to read.
    return f"{hex_id(first)} {hex_id(last)}" if last == first + 1 else f"{hex_id(first)}-{hex_id(last)}"


def id_list(numbers):
    return " ".join(word_of(first, last) for first, last in runs(numbers))


def ids_in(text):
    """Returns the numbers in an id list; empty for "*"."""
    numbers = []
    for word in text.split():
        if word == "*":
            continue
        first, _, last = word.partition("-")
        numbers.extend(range(int(first, 16), int(last or first, 16) + 1))
    return numbers
