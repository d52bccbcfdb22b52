// SPDX-License-Identifier: Apache-2.0

// Makes each call in a file, [[machine, method, parameters], …], and prints each answer as one line
// of JSON.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"

	"gpuprobe.invalid/gpuprobe"
	_ "gpuprobe.invalid/gpuprobe/program"
)

func main() {
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	var questions [][3]json.RawMessage
	if err := json.Unmarshal(text, &questions); err != nil {
		log.Fatal(err)
	}
	var client gpuprobe.Client
	for _, question := range questions {
		var machine, method string
		if json.Unmarshal(question[0], &machine) != nil || json.Unmarshal(question[1], &method) != nil {
			log.Fatal("a name is not a string")
		}
		os.Setenv("MACHINE", machine)
		var answer json.RawMessage
		var refusal *gpuprobe.Refusal
		if err := client.Call(context.Background(), method, question[2], &answer); errors.As(err, &refusal) {
			answer = refusal.Details
		} else if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s\n", answer)
	}
}
