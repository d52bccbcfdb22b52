// SPDX-License-Identifier: Apache-2.0

// Runs a program on the GPU that gpuprobe chooses for it.
//
// Usage: run_with_gpu APPLICATION PROGRAM [ARGUMENT…]
// Build: go build run_with_gpu.go
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"gpuprobe.invalid/gpuprobe"
)

// fail prints why no backend was chosen, and how to fix the problem.
func fail(application string, err error) {
	var refusal *gpuprobe.Refusal
	if !errors.Is(err, gpuprobe.ErrNoMatch) || !errors.As(err, &refusal) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Fprintf(os.Stderr, "no backend fits for %s: %s\n", application, refusal.Message)
	for _, candidate := range refusal.Candidates {
		for _, reason := range candidate.Reasons {
			fmt.Fprintf(os.Stderr, "  %s: %s\n", candidate.Backend, gpuprobe.Or(reason.Text, reason.Code))
			if reason.Fix != nil {
				fmt.Fprintf(os.Stderr, "    fix: %s\n", *reason.Fix)
			}
		}
	}
	os.Exit(3)
}

func main() {
	if len(os.Args) < 3 {
		os.Exit(2)
	}
	var client gpuprobe.Client
	choice, err := client.Select(context.Background(), gpuprobe.SelectParameters{
		Application: os.Args[1],
		Request:     &gpuprobe.SelectRequest{Built: []string{"cuda", "vulkan", "cpu"}},
	})
	if err != nil {
		fail(os.Args[1], err)
	}
	for _, message := range choice.Messages {
		fmt.Fprintln(os.Stderr, message)
	}
	fmt.Fprintln(os.Stderr, choice.Decision)
	os.Setenv("GPU_BACKEND", gpuprobe.Or(choice.Backend, ""))
	for name, value := range choice.Environment {
		os.Setenv(name, value)
	}
	program, err := exec.LookPath(os.Args[2])
	if err == nil {
		err = syscall.Exec(program, os.Args[2:], os.Environ())
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(127)
}
