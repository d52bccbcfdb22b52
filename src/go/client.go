// SPDX-License-Identifier: Apache-2.0 OR MIT

// Package gpuprobe gets the GPUs of this machine, and the backend to use, from gpuprobe.
//
// An answer is the same JSON document that `gpuprobectl -j` prints. The client calls the daemon through the daemon's
// socket. If no daemon answers, the client runs `gpuprobectl --direct`, unless Client.DaemonOnly is set.
//
// The types and the methods of Client are generated from the description of the interface when gpuprobe is built.
package gpuprobe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"sync"
	"time"
)

// DefaultSocket is the path of the socket on which the daemon listens.
const DefaultSocket = "/run/gpuprobe/org.gpuprobe"

const usualTimeout = 25 * time.Second

// Client has one connection, which is opened at the first call and again after a restart of the daemon. The zero value is
// ready to use. Goroutines may share a client; their calls run one after the other.
type Client struct {
	// Socket is the path of the daemon's socket. If Socket is empty, the client uses $GPUPROBE_SOCKET or, if that variable
	// is empty, DefaultSocket.
	Socket string
	// Timeout is the time limit for each call, in addition to the limit of the context. 0 means 25 seconds; a negative
	// value means no limit.
	Timeout time.Duration
	// DaemonOnly prevents the client from running gpuprobectl.
	DaemonOnly bool

	once       sync.Once
	turn       chan struct{} // has an element while a call runs
	connection *connection
}

// Close ends the connection. A later call opens a new connection.
func (c *Client) Close() {
	if c.begin(context.Background()) == nil {
		c.drop()
		c.end()
	}
}

// Call calls any method of org.gpuprobe, such as "Query", and stores the answer in the value that answer points to. The
// parameters may be nil. Returns a *Refusal, an error that wraps ErrUnavailable or ErrInvalidAnswer, or the error of
// the context.
func (c *Client) Call(ctx context.Context, method string, parameters, answer any) error {
	text, err := parametersText(parameters)
	if err != nil {
		return err
	}
	found, err := c.answer(ctx, method, text)
	if err != nil {
		return err
	}
	return decode(found, answer)
}

// Watch sends the current state of the report, and a new state after each change. When the daemon ends, the stream ends
// with an error that wraps ErrUnavailable.
func (c *Client) Watch(ctx context.Context) *Stream[SubscribeAnswer] {
	return c.Subscribe(ctx)
}

// Doctor finds out why this process does not use a GPU, and how to fix the problem. Doctor calls Diagnose with the
// environment of the process.
func (c *Client) Doctor(ctx context.Context) (*DiagnoseAnswer, error) {
	environment := map[string]string{}
	for _, variable := range os.Environ() {
		name, value, _ := strings.Cut(variable, "=")
		environment[name] = value
	}
	return c.Diagnose(ctx, DiagnoseParameters{Environment: environment})
}

// Some returns a pointer to the value, for members of requests.
func Some[Value any](value Value) *Value {
	return &value
}

// Or returns the value that a member of an answer points to, or other if the member is nil.
func Or[Value any](value *Value, other Value) Value {
	if value == nil {
		return other
	}
	return *value
}

// Stream contains the answers of a method that sends several answers.
type Stream[Answer any] struct {
	// C sends the answers, and is closed after the last answer. A caller that stops reading earlier must cancel the
	// context.
	C   <-chan Answer
	err error
}

// Err returns the error that ended the stream, or nil if C was closed after the last answer.
func (s *Stream[Answer]) Err() error {
	return s.err
}

// ask returns the typed answer of a method.
func ask[Answer any](ctx context.Context, c *Client, method string, parameters any) (*Answer, error) {
	answer := new(Answer)
	if err := c.Call(ctx, method, parameters, answer); err != nil {
		return nil, err
	}
	return answer, nil
}

// stream sends all answers of a method, on a separate connection.
func stream[Answer any](ctx context.Context, c *Client, method string, parameters any) *Stream[Answer] {
	answers := make(chan Answer)
	found := &Stream[Answer]{C: answers}
	go func() {
		defer close(answers)
		found.err = c.replies(ctx, method, parameters, func(message json.RawMessage, _ bool) error {
			var answer Answer
			if err := decode(message, &answer); err != nil {
				return err
			}
			select {
			case answers <- answer:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}()
	return found
}

// withProgress calls onProgress until the last answer of a method, and returns that answer. Without a daemon,
// onProgress is not called.
func withProgress[Answer any](ctx context.Context, c *Client, method string, parameters any, onProgress func(float64)) (*Answer, error) {
	answer := new(Answer)
	err := c.replies(ctx, method, parameters, func(message json.RawMessage, continues bool) error {
		if !continues {
			return decode(message, answer)
		}
		progress, err := progressIn(message)
		if err == nil && onProgress != nil {
			onProgress(progress)
		}
		return err
	})
	if errors.Is(err, errNoConnection) && !c.DaemonOnly {
		err = c.answerOfProgram(ctx, method, parameters, answer)
	}
	if err != nil {
		return nil, err
	}
	return answer, nil
}

func (c *Client) answerOfProgram(ctx context.Context, method string, parameters, answer any) error {
	text, err := parametersText(parameters)
	if err != nil {
		return err
	}
	found, err := runProgram(ctx, method, text)
	if err != nil {
		return err
	}
	return decode(found, answer)
}

// replies calls take for each answer to a call. The second argument of take reports whether another answer follows.
func (c *Client) replies(ctx context.Context, method string, parameters any, take func(json.RawMessage, bool) error) error {
	text, err := parametersText(parameters)
	if err != nil {
		return err
	}
	connection, err := connect(ctx, c.path())
	if err != nil {
		return err
	}
	defer connection.close()
	defer connection.endWith(ctx)()
	err = connection.send(ctx, callText(method, text, true))
	for continues := true; err == nil && continues; {
		var message, answer json.RawMessage
		if message, err = connection.receive(ctx); err != nil {
			break
		}
		if answer, continues, err = answerFrom(message, true); err == nil {
			err = take(answer, continues)
		}
	}
	return err
}

// answer returns the answer from the daemon, or from gpuprobectl if no daemon answers.
func (c *Client) answer(ctx context.Context, method string, parameters []byte) (json.RawMessage, error) {
	found, err := c.answerOfDaemon(ctx, callText(method, parameters, false))
	if !errors.Is(err, ErrUnavailable) || c.DaemonOnly {
		return found, err
	}
	limited, cancel := c.limited(ctx)
	defer cancel()
	return runProgram(limited, method, parameters)
}

func (c *Client) answerOfDaemon(ctx context.Context, text []byte) (json.RawMessage, error) {
	ctx, cancel := c.limited(ctx)
	defer cancel()
	if err := c.begin(ctx); err != nil {
		return nil, err
	}
	defer c.end()
	if c.connection != nil && !c.connection.isFit() {
		c.drop()
	}
	wasConnected := c.connection != nil
	found, err := c.exchange(ctx, text)
	if wasConnected && errors.Is(err, errEnded) { // the daemon was restarted: connect again, once
		return c.exchange(ctx, text)
	}
	return found, err
}

func (c *Client) exchange(ctx context.Context, text []byte) (json.RawMessage, error) {
	if c.connection == nil {
		opened, err := connect(ctx, c.path())
		if err != nil {
			return nil, err
		}
		c.connection = opened
	}
	answer, err := c.connection.exchange(ctx, text)
	var refusal *Refusal
	if err != nil && !errors.As(err, &refusal) { // a late reply would be mistaken for the next answer
		c.drop()
	}
	return answer, err
}

func (c *Client) path() string {
	for _, path := range []string{c.Socket, os.Getenv("GPUPROBE_SOCKET")} {
		if path != "" {
			return path
		}
	}
	return DefaultSocket
}

func (c *Client) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	if c.Timeout < 0 {
		return context.WithCancel(ctx)
	}
	if c.Timeout == 0 {
		return context.WithTimeout(ctx, usualTimeout)
	}
	return context.WithTimeout(ctx, c.Timeout)
}

// begin waits until no other call runs.
func (c *Client) begin(ctx context.Context) error {
	c.once.Do(func() { c.turn = make(chan struct{}, 1) })
	select {
	case c.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("another call of this client runs: %w", ctx.Err())
	}
}

func (c *Client) end() {
	<-c.turn
}

func (c *Client) drop() {
	if c.connection != nil {
		c.connection.close()
		c.connection = nil
	}
}

func parametersText(parameters any) ([]byte, error) {
	if parameters == nil {
		return []byte("{}"), nil
	}
	return json.Marshal(parameters)
}

// membersSet returns the members of a request that are set. An empty list counts as set, and a nil list as not set.
func membersSet(request any) map[string]any {
	found := map[string]any{}
	record := reflect.ValueOf(request)
	for at := 0; at < record.NumField(); at++ {
		key, mark, _ := strings.Cut(record.Type().Field(at).Tag.Get("json"), ",")
		if mark != "omitzero" || !record.Field(at).IsZero() {
			found[key] = record.Field(at).Interface()
		}
	}
	return found
}
