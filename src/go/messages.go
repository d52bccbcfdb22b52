// SPDX-License-Identifier: Apache-2.0 OR MIT

package gpuprobe

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	maxAnswer = 64 << 20 // bytes; a usual report has several hundred thousand bytes
	maxValues = 1 << 20  // values in an answer
	maxLevels = 64
)

var (
	// ErrUnavailable means that neither the daemon nor gpuprobectl answers.
	ErrUnavailable = errors.New("gpuprobe is not available")
	// ErrInvalidAnswer means that the answer is not valid.
	ErrInvalidAnswer = errors.New("the answer is not valid")
)

// ErrorName is the D-Bus name of an error. errors.Is compares only the last part of an ErrorName with a *Refusal.
type ErrorName string

func (name ErrorName) Error() string {
	return string(name)
}

func (name ErrorName) lastPart() string {
	return string(name[strings.LastIndexByte(string(name), '.')+1:])
}

// Refusal is the error with which the daemon answered a call.
type Refusal struct {
	// Name is the D-Bus name, such as "org.gpuprobe.GpuProbe1.Error.NoMatch".
	Name ErrorName
	// Message describes the error for people.
	Message string
	// Candidates contains all candidates of the selection, with the reasons against each candidate, if the error is
	// ErrNoMatch.
	Candidates []Candidate
	// Details contains all members of the error as JSON.
	Details json.RawMessage
}

func (r *Refusal) Error() string {
	return r.Message
}

// Is compares the name of the error, so that callers can write errors.Is(err, gpuprobe.ErrNoMatch).
func (r *Refusal) Is(target error) bool {
	name, isName := target.(ErrorName)
	return isName && name.lastPart() == r.Name.lastPart()
}

func invalid(reason string, words ...any) error {
	return fmt.Errorf("%w: %s", ErrInvalidAnswer, fmt.Sprintf(reason, words...))
}

func refusalFrom(name string, details json.RawMessage) error {
	refusal := &Refusal{Name: ErrorName(name), Details: details, Message: fmt.Sprintf("%s: %s", name, details)}
	var document struct{ Message, Candidates json.RawMessage }
	if err := decode(details, &document); err != nil {
		return err
	}
	var message string
	if json.Unmarshal(document.Message, &message) == nil && message != "" {
		refusal.Message = message
	}
	if errors.Is(refusal, ErrNoMatch) && document.Candidates != nil {
		if err := decode(document.Candidates, &refusal.Candidates); err != nil {
			return err
		}
	}
	return refusal
}

func fullName(method string) string {
	if strings.Contains(method, ".") {
		return method
	}
	return "org.gpuprobe." + method
}

func callText(method string, parameters []byte, takesMore bool) []byte {
	call := struct {
		Method     string          `json:"method"`
		Parameters json.RawMessage `json:"parameters"`
		More       bool            `json:"more,omitempty"`
	}{fullName(method), parameters, takesMore}
	text, _ := json.Marshal(call) // cannot fail: the parameters are JSON already
	return append(text, 0)
}

// answerFrom returns the document of a reply, and whether another reply follows.
func answerFrom(text []byte, takesMore bool) (answer json.RawMessage, continues bool, err error) {
	var reply struct {
		Error      *string
		Parameters json.RawMessage
		Continues  bool
	}
	if err := decodeReply(text, &reply); err != nil {
		return nil, false, err
	}
	if reply.Error != nil && (reply.Parameters == nil || string(reply.Parameters) == "null") {
		reply.Parameters = json.RawMessage("{}")
	}
	if !isObject(reply.Parameters) {
		return nil, false, invalid("its parameters are not an object")
	}
	if reply.Error != nil {
		name, err := errorName(*reply.Error, reply.Parameters)
		if err != nil {
			return nil, false, err
		}
		return nil, false, refusalFrom(name, reply.Parameters)
	}
	if reply.Continues && !takesMore {
		return nil, false, invalid("it announces another one")
	}
	return reply.Parameters, reply.Continues, nil
}

// errorName returns the name in the parameters of an error. If the parameters contain no name, errorName returns the
// error name of the reply.
func errorName(name string, parameters json.RawMessage) (string, error) {
	if name == "" {
		return "", invalid("its error has no name")
	}
	var document struct{ Name json.RawMessage }
	if err := decode(parameters, &document); err != nil {
		return "", err
	}
	if document.Name == nil {
		return name, nil
	}
	if document.Name[0] != '"' {
		return "", invalid("its error has no name")
	}
	return name, decode(document.Name, &name)
}

// answerFromProgram returns the document that gpuprobectl printed.
func answerFromProgram(text []byte) (json.RawMessage, error) {
	var document struct{ Error json.RawMessage }
	if err := decodeReply(text, &document); err != nil || !isObject(text) {
		return nil, fmt.Errorf("%w: no daemon answers, and neither does %s: %q", ErrUnavailable, program, text)
	}
	if !isObject(document.Error) {
		return bytes.TrimSpace(text), nil
	}
	var refused struct{ Name string }
	if err := decode(document.Error, &refused); err != nil {
		return nil, err
	}
	return nil, refusalFrom(refused.Name, document.Error)
}

// progressIn returns the progress of a probe.
func progressIn(answer json.RawMessage) (float64, error) {
	var document struct{ Progress *float64 }
	if err := decode(answer, &document); err != nil {
		return 0, err
	}
	if document.Progress == nil || *document.Progress < 0 || *document.Progress > 1 {
		return 0, invalid("its progress is not a number from 0 to 1")
	}
	return *document.Progress, nil
}

func isObject(text []byte) bool {
	text = bytes.TrimLeft(text, " \t\r\n")
	return len(text) > 0 && text[0] == '{'
}

// decodeReply decodes a reply that has not been checked.
func decodeReply(text []byte, reply any) error {
	if err := check(text); err != nil {
		return err
	}
	return decode(text, reply)
}

func decode(text []byte, value any) error {
	if err := json.Unmarshal(text, value); err != nil {
		return invalid("%v", err)
	}
	return nil
}

// check refuses JSON that is too large, is nested too deeply, or contains characters that encoding/json would replace;
// encoding/json itself would accept such JSON.
func check(text []byte) error {
	if !utf8.Valid(text) {
		return invalid("it is not UTF-8")
	}
	levels, values, inText := 0, 0, false
	for at := 0; at < len(text); at++ {
		switch character := text[at]; {
		case inText && character == '\\':
			length := escapeLength(text[at:])
			if length == 0 {
				return invalid("an unpaired surrogate")
			}
			at += length - 1
		case character == '"':
			inText = !inText
		case inText:
		case character == '{' || character == '[':
			levels++
			values++
		case character == '}' || character == ']':
			levels--
		case character == ',':
			values++
		}
		if levels > maxLevels || values > maxValues {
			return invalid("more than %d levels or %d values", maxLevels, maxValues)
		}
	}
	return nil
}

// escapeLength returns the length of the escape sequence at the beginning of the text, or 0 for an unpaired surrogate.
func escapeLength(text []byte) int {
	first, second := codeUnit(text), rune(0)
	if len(text) > 6 {
		second = codeUnit(text[6:])
	}
	switch {
	case first < 0xD800 || first > 0xDFFF:
		return 2
	case first < 0xDC00 && second >= 0xDC00 && second <= 0xDFFF:
		return 12
	}
	return 0
}

// codeUnit returns the UTF-16 code unit of an escape sequence such as \u00e9, or 0 if there is no such sequence.
func codeUnit(text []byte) rune {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0
	}
	unit, _ := strconv.ParseUint(string(text[2:6]), 16, 16)
	return rune(unit)
}
