# SPDX-License-Identifier: Apache-2.0 OR MIT
"""python3 -m gpuprobe: prints the answer to one call as JSON."""
import argparse
import json
import sys

from . import Client, Failure, NoMatch, Refused


def main() -> int:
    parser = argparse.ArgumentParser(prog="python3 -m gpuprobe", description="Prints what gpuprobe answers, as JSON.")
    parser.add_argument("--socket", help="where the daemon listens")
    parser.add_argument("question", nargs="?", default="select",
                        help="select, recommend, doctor, describe, gpus, or a method: org.gpuprobe.Query")
    parser.add_argument("word", nargs="?", help="an application, or the parameters of a method")
    arguments = parser.parse_args()
    question, word = arguments.question, arguments.word
    try:
        with Client(arguments.socket) as client:
            if "." in question:
                answer = client.call(question, json.loads(word or "{}"))
            elif question in ("select", "recommend", "doctor", "describe", "gpus"):
                answer = getattr(client, question)(*([word] if word else []))
            else:
                parser.error(f"no question '{question}'")
    except (ValueError, TypeError) as problem:
        parser.error(str(problem))
    except Refused as problem:
        print(json.dumps({"error": {"name": problem.name, **problem.details}}, ensure_ascii=False))
        return 3 if isinstance(problem, NoMatch) else 1
    except Failure as problem:
        print(f"gpuprobe: {problem}", file=sys.stderr)
        return 1
    print(json.dumps(answer, ensure_ascii=False, separators=(",", ":")))
    return 0


if __name__ == "__main__":
    sys.exit(main())
