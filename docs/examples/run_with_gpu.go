// SPDX-License-Identifier: Apache-2.0

// Runs a program on the GPU that gpuprobe picks for it, over the daemon's socket.
//
// Usage: run_with_gpu APPLICATION PROGRAM [ARGUMENT…]
// Build: go build run_with_gpu.go
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"syscall"
)

type reason struct {
	Text string
	Fix  string
}

type candidate struct {
	Backend string
	Reasons []reason
}

type choice struct {
	Backend     string
	Environment map[string]string
	Messages    []string
	Decision    string
	Message     string // of a failure
	Candidates  []candidate
}

type reply struct {
	Error      string
	Parameters choice
}

func selectBackend(application string) (reply, error) {
	var answer reply
	path := os.Getenv("GPUPROBE_SOCKET")
	if path == "" {
		path = "/run/gpuprobe/org.gpuprobe"
	}
	connection, err := net.Dial("unix", path)
	if err != nil {
		return answer, err
	}
	defer connection.Close()
	request := map[string]any{"built": []string{"cuda", "vulkan", "cpu"}}
	call, err := json.Marshal(map[string]any{
		"method":     "org.gpuprobe.Select",
		"parameters": map[string]any{"application": application, "request": request},
	})
	if err != nil {
		return answer, err
	}
	if _, err = connection.Write(append(call, 0)); err != nil {
		return answer, err
	}
	text, err := bufio.NewReader(connection).ReadBytes(0)
	if err != nil {
		return answer, err
	}
	return answer, json.Unmarshal(text[:len(text)-1], &answer)
}

// Prints why no backend fits, and what fixes it.
func sayWhy(application string, failure choice) {
	fmt.Fprintf(os.Stderr, "no backend fits for %s: %s\n", application, failure.Message)
	for _, candidate := range failure.Candidates {
		for _, reason := range candidate.Reasons {
			fmt.Fprintf(os.Stderr, "  %s: %s\n", candidate.Backend, reason.Text)
			if reason.Fix != "" {
				fmt.Fprintf(os.Stderr, "    fix: %s\n", reason.Fix)
			}
		}
	}
}

func main() {
	if len(os.Args) < 3 {
		os.Exit(2)
	}
	answer, err := selectBackend(os.Args[1])
	if err == nil && answer.Error == "org.gpuprobe.NoMatch" {
		sayWhy(os.Args[1], answer.Parameters)
		os.Exit(3)
	}
	if err == nil && answer.Error != "" {
		err = fmt.Errorf("%s: %s", answer.Error, answer.Parameters.Message)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for _, message := range answer.Parameters.Messages {
		fmt.Fprintln(os.Stderr, message)
	}
	fmt.Fprintln(os.Stderr, answer.Parameters.Decision)
	os.Setenv("GPU_BACKEND", answer.Parameters.Backend)
	for name, value := range answer.Parameters.Environment {
		os.Setenv(name, value)
	}
	program, err := exec.LookPath(os.Args[2])
	if err == nil {
		err = syscall.Exec(program, os.Args[2:], os.Environ())
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(127)
}
