// SPDX-License-Identifier: Apache-2.0

// Makes each call in a file, [[method, parameters], …], with the Go client. Prints two lines of
// JSON for each call: the answer, and the answer of the typed method, encoded from its types. The
// second line is null if the parameters do not fit the types.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"

	"gpuprobe.invalid/gpuprobe"
)

func details(err error) json.RawMessage {
	var refusal *gpuprobe.Refusal
	if !errors.As(err, &refusal) {
		panic(err)
	}
	return refusal.Details
}

func untyped(client *gpuprobe.Client, method string, parameters json.RawMessage) json.RawMessage {
	var answer json.RawMessage
	if err := client.Call(context.Background(), method, parameters, &answer); err != nil {
		return details(err)
	}
	return answer
}

// parametersOf decodes the text into a generated type. The second result is false if this loses information.
func parametersOf(kind reflect.Type, text json.RawMessage) (reflect.Value, bool) {
	value := reflect.New(kind)
	var given, set any
	if json.Unmarshal(text, value.Interface()) != nil || json.Unmarshal(text, &given) != nil {
		return value, false
	}
	again, err := json.Marshal(value.Interface())
	if err != nil || json.Unmarshal(again, &set) != nil {
		panic(err)
	}
	return value.Elem(), reflect.DeepEqual(given, set)
}

// typed calls the method of the client that has the same name.
func typed(client *gpuprobe.Client, method string, parameters json.RawMessage) json.RawMessage {
	words := []reflect.Value{reflect.ValueOf(context.Background())}
	function := reflect.ValueOf(client).MethodByName(strings.ReplaceAll(method, "Gpu", "GPU"))
	if !function.IsValid() {
		return json.RawMessage("null")
	}
	if function.Type().NumIn() == 2 {
		value, isSame := parametersOf(function.Type().In(1), parameters)
		if !isSame {
			return json.RawMessage("null")
		}
		words = append(words, value)
	} else if string(parameters) != "{}" {
		return json.RawMessage("null")
	}
	found := function.Call(words)
	if !found[1].IsNil() {
		return details(found[1].Interface().(error))
	}
	answer, err := json.Marshal(found[0].Interface())
	if err != nil {
		panic(err)
	}
	return answer
}

func main() {
	text, err := os.ReadFile(os.Args[2])
	if err != nil {
		panic(err)
	}
	var questions [][2]json.RawMessage
	if err := json.Unmarshal(text, &questions); err != nil {
		panic(err)
	}
	client := &gpuprobe.Client{Socket: os.Args[1], DaemonOnly: true}
	for _, question := range questions {
		method := string(bytes.Trim(question[0], `"`))
		fmt.Printf("%s\n%s\n", untyped(client, method, question[1]), typed(client, method, question[1]))
	}
}
