// SPDX-License-Identifier: Apache-2.0 OR MIT

package gpuprobe

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"syscall"
	"time"
)

const program = "gpuprobectl"

var (
	errNoConnection = fmt.Errorf("%w: no daemon listens", ErrUnavailable)
	errEnded        = fmt.Errorf("%w: the daemon ended the connection", ErrUnavailable)
)

// connection is a connection to the daemon.
type connection struct {
	socket *net.UnixConn
	limit  *io.LimitedReader // limits the size of the next message
	reader *bufio.Reader
}

// connect opens a connection, and tries again while the daemon's queue of connections is full.
func connect(ctx context.Context, path string) (*connection, error) {
	for {
		socket, err := new(net.Dialer).DialContext(ctx, "unix", path)
		switch {
		case err == nil:
			limit := &io.LimitedReader{R: socket}
			return &connection{socket.(*net.UnixConn), limit, bufio.NewReaderSize(limit, 1<<16)}, nil
		case ctx.Err() != nil:
			return nil, fmt.Errorf("the daemon takes no connection in time: %w", ctx.Err())
		case !errors.Is(err, syscall.EAGAIN):
			return nil, fmt.Errorf("%w: %v", errNoConnection, err)
		}
		time.Sleep(time.Millisecond)
	}
}

func (c *connection) close() {
	_ = c.socket.Close()
}

// isFit returns whether the connection can be used again, which means that it is open and no unexpected data has
// arrived.
func (c *connection) isFit() bool {
	raw, err := c.socket.SyscallConn()
	if err != nil {
		return false
	}
	_ = raw.Read(func(descriptor uintptr) bool {
		_, _, err = syscall.Recvfrom(int(descriptor), make([]byte, 1), syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		return true
	})
	return err == syscall.EAGAIN
}

// endWith interrupts every operation of the connection when the context ends, until the returned function is called.
func (c *connection) endWith(ctx context.Context) func() {
	_ = c.socket.SetDeadline(time.Time{})
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		select {
		case <-ctx.Done():
			_ = c.socket.SetDeadline(time.Unix(1, 0))
		case <-done:
		}
	}()
	return func() {
		close(done)
		<-stopped
	}
}

// exchange sends a call and returns the answer.
func (c *connection) exchange(ctx context.Context, text []byte) (json.RawMessage, error) {
	defer c.endWith(ctx)()
	if err := c.send(ctx, text); err != nil {
		return nil, err
	}
	message, err := c.receive(ctx)
	if err != nil {
		return nil, err
	}
	if c.reader.Buffered() > 0 {
		return nil, invalid("something follows it")
	}
	answer, _, err := answerFrom(message, false)
	return answer, err
}

// send also succeeds if the daemon ends the connection, because the daemon may have refused the call, with a reason,
// before it read the whole call.
func (c *connection) send(ctx context.Context, text []byte) error {
	_, err := c.socket.Write(text)
	if err == nil || errors.Is(err, syscall.EPIPE) {
		return nil
	}
	return failure(ctx, err)
}

// receive returns the next message, without the NUL that ends it.
func (c *connection) receive(ctx context.Context) ([]byte, error) {
	c.limit.N = maxAnswer
	message, err := c.reader.ReadBytes(0)
	if err == nil {
		return message[:len(message)-1], nil
	}
	if c.limit.N <= 0 {
		return nil, invalid("it is larger than %d MiB", maxAnswer>>20)
	}
	return nil, failure(ctx, err)
}

// failure converts an error of the socket to an error of this package.
func failure(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("no answer from the daemon: %w", ctx.Err())
	}
	if err == io.EOF || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) {
		return errEnded
	}
	return fmt.Errorf("%w: %v", ErrUnavailable, err)
}

// runProgram runs gpuprobectl and returns its answer.
func runProgram(ctx context.Context, method string, parameters []byte) (json.RawMessage, error) {
	path, err := Program()
	if err != nil {
		return nil, fmt.Errorf("%w: no daemon answers, and %v", ErrUnavailable, err)
	}
	command := exec.CommandContext(ctx, path, "--direct", "-j", "-q", "call", fullName(method), "-")
	command.Stdin = bytes.NewReader(parameters)
	text, err := command.Output()
	if ctx.Err() != nil {
		return nil, fmt.Errorf("no answer from %s: %w", program, ctx.Err())
	}
	var status *exec.ExitError // the answer has the reason
	if err != nil && !errors.As(err, &status) {
		return nil, fmt.Errorf("%w: no daemon answers, and %s cannot be run: %v; install gpuprobe, or set GPUPROBE_PROGRAM to the path of gpuprobectl",
			ErrUnavailable, path, err)
	}
	return answerFromProgram(text)
}
