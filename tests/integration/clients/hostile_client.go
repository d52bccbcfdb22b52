// SPDX-License-Identifier: Apache-2.0

// Makes a call with the Go client on each socket in a file, which is a JSON array of paths, and prints a line with the result for each.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"gpuprobe.invalid/gpuprobe"
)

func clientOf(socket string) *gpuprobe.Client {
	timeout := time.Minute
	if strings.Contains(socket, "/late-") {
		timeout = 300 * time.Millisecond
	}
	return &gpuprobe.Client{Socket: socket, Timeout: timeout, DaemonOnly: true}
}

func ask(socket string) (string, error) {
	var answer json.RawMessage
	err := clientOf(socket).Call(context.Background(), "Describe", nil, &answer)
	if len(answer) >= 4096 {
		return "answers long", err
	}
	return "answers " + string(answer), err
}

// typed makes a call whose answer is read into generated types.
func typed(socket string) (string, error) {
	_, err := clientOf(socket).Describe(context.Background())
	return "answers", err
}

func follow(socket string) (string, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	stream, left := clientOf(socket).Watch(ctx), 1000
	for range stream.C {
		if left--; left == 0 {
			return "answers", nil
		}
	}
	return "answers", stream.Err()
}

// repeat checks that each answer belongs to its call.
func repeat(socket string) (string, error) {
	client, gate := clientOf(socket), clientOf(strings.Replace(socket, "/echo", "/gate", 1))
	for number := 0; number < 20; number++ {
		method := fmt.Sprintf("x.Method%d", number)
		answer := struct{ Method string }{method}
		err := client.Call(context.Background(), method, nil, &answer)
		if err != nil {
			answer.Method = method
		}
		if err := gate.Call(context.Background(), "Describe", nil, &struct{}{}); err != nil {
			return "", err
		}
		if answer.Method != method {
			return fmt.Sprintf("LEAKED: %s is answered with %s", method, answer.Method), nil
		}
	}
	return "answers", nil
}

// program makes a call that gpuprobectl answers, because no daemon listens on the socket.
func program(socket string) (string, error) {
	var answer json.RawMessage
	err := (&gpuprobe.Client{Socket: socket}).Call(context.Background(), "Describe", nil, &answer)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return string(answer), err
}

func outcome(answer string, err error) string {
	var refusal *gpuprobe.Refusal
	switch {
	case err == nil:
		return answer
	case errors.As(err, &refusal):
		if refusal.Error() == "" {
			return "LEAKED nothing"
		}
		return "refused"
	case errors.Is(err, context.DeadlineExceeded):
		return "late"
	case errors.Is(err, gpuprobe.ErrUnavailable), errors.Is(err, gpuprobe.ErrInvalidAnswer):
		return "fails"
	}
	return "LEAKED " + err.Error()
}

func main() {
	ways := map[string]func(string) (string, error){"ask": ask, "typed": typed, "follow": follow, "repeat": repeat, "program": program}
	text, err := os.ReadFile(os.Args[2])
	if err != nil {
		panic(err)
	}
	var sockets []string
	if err := json.Unmarshal(text, &sockets); err != nil {
		panic(err)
	}
	for _, socket := range sockets {
		fmt.Println(strings.ReplaceAll(outcome(ways[os.Args[1]](socket)), "\n", " "))
	}
}
