// SPDX-License-Identifier: Apache-2.0

// Executes each line of standard input with one Go client, and prints a line with the result.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"gpuprobe.invalid/gpuprobe"
)

var everything = context.Background()

type step func(client *gpuprobe.Client, words []string) (any, error)

func selectBackend(client *gpuprobe.Client, words []string) (any, error) {
	request := &gpuprobe.SelectRequest{Only: words[1:], MinMemory: gpuprobe.Some(uint64(0))}
	if len(words) == 1 {
		request = nil
	}
	choice, err := client.Select(everything, gpuprobe.SelectParameters{Application: words[0], Request: request})
	if err != nil {
		return nil, err
	}
	return gpuprobe.Or(choice.Backend, "none"), nil
}

// selectNothing sends an empty list, which differs from a list that is not set.
func selectNothing(client *gpuprobe.Client, _ []string) (any, error) {
	request := &gpuprobe.SelectRequest{GPUs: []string{}}
	choice, err := client.Select(everything, gpuprobe.SelectParameters{Request: request})
	if err != nil {
		return nil, err
	}
	return len(choice.GPUs), nil
}

func recommend(client *gpuprobe.Client, words []string) (any, error) {
	answer, err := client.Recommend(everything, gpuprobe.RecommendParameters{Application: words[0]})
	if err != nil {
		return nil, err
	}
	return gpuprobe.Or(answer.Variant, "none"), nil
}

func plan(client *gpuprobe.Client, words []string) (any, error) {
	need, err := strconv.ParseUint(words[0], 10, 64)
	if err != nil {
		return nil, err
	}
	answer, err := client.Plan(everything, gpuprobe.PlanParameters{Need: &need})
	if err != nil {
		return nil, err
	}
	return gpuprobe.Or(answer.Asked, 0), nil
}

func list(client *gpuprobe.Client, _ []string) (any, error) {
	answer, err := client.ListGPUs(everything)
	if err != nil {
		return nil, err
	}
	return len(answer.GPUs), nil
}

func describe(client *gpuprobe.Client, _ []string) (any, error) {
	report, err := client.Describe(everything)
	if err != nil {
		return nil, err
	}
	return gpuprobe.Or(report.Host.OS, "unknown"), nil
}

func doctor(client *gpuprobe.Client, _ []string) (any, error) {
	answer, err := client.Doctor(everything)
	if err != nil {
		return nil, err
	}
	for _, finding := range answer.Findings {
		if finding.ID == "drivers-overridden" {
			return finding.ID, nil
		}
	}
	return answer.Severity, nil
}

func watch(client *gpuprobe.Client, _ []string) (any, error) {
	ctx, cancel := context.WithCancel(everything)
	defer cancel()
	changes := client.Watch(ctx)
	first, more := <-changes.C
	if !more {
		return nil, changes.Err()
	}
	fmt.Println(first.State)
	second, more := <-changes.C
	if !more {
		return nil, changes.Err()
	}
	cancel()
	for range changes.C {
	}
	if !errors.Is(changes.Err(), context.Canceled) {
		return nil, fmt.Errorf("a stream that was canceled ends with %v", changes.Err())
	}
	return second.Generation > first.Generation, nil
}

func probe(client *gpuprobe.Client, words []string) (any, error) {
	steps := []float64{}
	onProgress := func(share float64) { steps = append(steps, share) }
	answer, err := client.Probe(everything, gpuprobe.ProbeParameters{APIs: words}, onProgress)
	if err != nil {
		return nil, err
	}
	return fmt.Sprint(steps, " ", gpuprobe.Or(answer.Generation, 0)), nil
}

// together makes calls from several goroutines.
func together(client *gpuprobe.Client, words []string) (any, error) {
	var group sync.WaitGroup
	problems := make(chan error, len(words))
	for _, word := range words {
		group.Add(1)
		go func(name string) {
			defer group.Done()
			for at := 0; at < 50; at++ {
				choice, err := client.Select(everything, gpuprobe.SelectParameters{Application: name})
				if err == nil && choice.Application != name {
					err = fmt.Errorf("%s is answered with %s", name, choice.Application)
				}
				if err != nil {
					problems <- err
					return
				}
			}
		}(word)
	}
	group.Wait()
	close(problems)
	return "same", <-problems
}

// cancel ends the context of a call that gets no answer.
func cancel(client *gpuprobe.Client, _ []string) (any, error) {
	ctx, cancel := context.WithTimeout(everything, 100*time.Millisecond)
	defer cancel()
	_, err := client.Describe(ctx)
	return nil, err
}

func told(answer any, err error) string {
	var refusal *gpuprobe.Refusal
	switch {
	case err == nil:
		return fmt.Sprint(answer)
	case errors.Is(err, gpuprobe.ErrNoMatch) && errors.As(err, &refusal) && len(refusal.Candidates) > 0:
		reason := refusal.Candidates[0].Reasons[0]
		return fmt.Sprintf("no match: %s: %s", refusal.Candidates[0].Backend, gpuprobe.Or(reason.Text, reason.Code))
	case errors.As(err, &refusal):
		return fmt.Sprintf("refused: %s", refusal.Name[strings.LastIndex(string(refusal.Name), ".")+1:])
	case errors.Is(err, context.DeadlineExceeded):
		return "late"
	case errors.Is(err, gpuprobe.ErrUnavailable):
		return "unavailable"
	case errors.Is(err, gpuprobe.ErrInvalidAnswer):
		return "invalid"
	}
	return err.Error()
}

func main() {
	steps := map[string]step{"select": selectBackend, "select-nothing": selectNothing, "recommend": recommend, "plan": plan, "list": list,
		"describe": describe, "doctor": doctor, "watch": watch, "probe": probe, "together": together, "cancel": cancel}
	client := &gpuprobe.Client{Timeout: time.Minute, DaemonOnly: len(os.Args) > 1}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		words := strings.Fields(lines.Text())
		fmt.Println(told(steps[words[0]](client, words[1:])))
	}
}
