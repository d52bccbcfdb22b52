// SPDX-License-Identifier: Apache-2.0

// Prints which build of PyTorch to download and why other builds do not fit; prints the new answer after each change.
package main

import (
	"context"
	"fmt"
	"log"

	"gpuprobe.invalid/gpuprobe"
)

func main() {
	var client gpuprobe.Client
	changes := client.Watch(context.Background())
	for range changes.C {
		answer, err := client.Recommend(context.Background(), gpuprobe.RecommendParameters{Application: "torch"})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("download:", gpuprobe.Or(answer.Variant, "nothing"), gpuprobe.Or(answer.Artifact, gpuprobe.Artifact{}).URLs)
		for _, each := range answer.Candidates {
			fmt.Println(" ", each.Variant, each.Verdict, gpuprobe.Or(each.Why, ""))
		}
	}
	log.Fatal(changes.Err())
}
