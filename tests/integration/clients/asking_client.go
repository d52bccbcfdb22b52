// SPDX-License-Identifier: Apache-2.0

// Makes the calls on standard input, a line "METHOD<TAB>PARAMETERS" each, on the socket in the argument, and prints a line with the answer, or
// "refused", for each.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"gpuprobe.invalid/gpuprobe"
)

func main() {
	client := &gpuprobe.Client{Socket: os.Args[1], DaemonOnly: true}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		method, parameters, _ := strings.Cut(lines.Text(), "\t")
		var answer json.RawMessage
		var refusal *gpuprobe.Refusal
		err := client.Call(context.Background(), method, json.RawMessage(parameters), &answer)
		switch {
		case err == nil:
			fmt.Println(string(answer))
		case errors.As(err, &refusal):
			fmt.Println("refused")
		default:
			fmt.Println("fails", err)
		}
	}
}
