// SPDX-License-Identifier: Apache-2.0 OR MIT

package gpuprobe

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"syscall"
	"unsafe"
)

// Source: memfd_create(2) and the kernel's tables of system calls; package syscall lacks some of the numbers.
const (
	closeOnExec = 1
	mayRun      = 0x10 // since Linux 6.3; older kernels reject this flag
)

var memoryFileCall = map[string]uintptr{"amd64": 319, "arm64": 279}

var carried struct {
	mutex sync.Mutex
	bytes string
	file  *os.File
}

// UseProgram makes all clients of this process run a gpuprobectl with these bytes, from memory, if no daemon answers.
// The package "program" of this module calls UseProgram when it is imported.
func UseProgram(bytes string) {
	carried.mutex.Lock()
	defer carried.mutex.Unlock()
	carried.bytes, carried.file = bytes, nil
}

// Program returns the gpuprobectl that clients run if no daemon answers: the value of the environment variable
// GPUPROBE_PROGRAM; else the path of the program that was passed to UseProgram, which this process and its children can
// execute until this process ends; otherwise the name "gpuprobectl".
func Program() (string, error) {
	if named := os.Getenv("GPUPROBE_PROGRAM"); named != "" {
		return named, nil
	}
	carried.mutex.Lock()
	defer carried.mutex.Unlock()
	if carried.bytes == "" {
		return program, nil
	}
	if carried.file == nil {
		file, err := memoryFile()
		if err != nil {
			return "", fmt.Errorf("a file in memory: %w", err)
		}
		if _, err := file.WriteString(carried.bytes); err != nil {
			_ = file.Close()
			return "", fmt.Errorf("a file in memory: %w", err)
		}
		carried.file = file
	}
	return fmt.Sprintf("/proc/self/fd/%d", carried.file.Fd()), nil
}

func memoryFile() (*os.File, error) {
	name := []byte(program + "\x00")
	for _, flags := range []uintptr{closeOnExec | mayRun, closeOnExec} {
		descriptor, _, problem := syscall.Syscall(memoryFileCall[runtime.GOARCH], uintptr(unsafe.Pointer(&name[0])), flags, 0)
		if problem == 0 {
			return os.NewFile(descriptor, program), nil
		}
		if !errors.Is(problem, syscall.EINVAL) {
			return nil, problem
		}
	}
	return nil, syscall.EINVAL
}
