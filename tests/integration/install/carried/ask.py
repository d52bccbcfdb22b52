# SPDX-License-Identifier: Apache-2.0
"""Makes each call in a file, [[machine, method, parameters], …], and prints each answer as one line of JSON."""
import json
import os
import sys

import gpuprobe

with open(sys.argv[1], encoding="utf-8") as questions, gpuprobe.Client() as client:
    for os.environ["MACHINE"], method, parameters in json.load(questions):
        try:
            answer = client.call(method, parameters)
        except gpuprobe.Refused as problem:
            answer = problem.details
        print(json.dumps(answer))
