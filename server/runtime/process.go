package runtime

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// loopback is where processes listen: nobody reaches them but through the gateway.
const loopback = "127.0.0.1"

// gate starts a program only once its process has been recorded: the shell
// waits for a line and becomes the program. When this runtime is killed
// between the two, the pipe closes, read fails and nothing has run. So there
// is no program of ours that no record names.
const gate = `read -r _ <&3 && exec 3<&- && exec "$@"`

// drainTime is how long output is still read after the last process of a group
// has ended: only a process that nobody can find keeps the pipes open.
const drainTime = 2 * time.Second

// tailLines is how many of the last lines a message quotes.
const tailLines = 5

// process is a command that runs, the leader of its process group.
type process struct {
	s      *Server
	record processRecord
	port   int
	cmd    *exec.Cmd
	output []*os.File     // our ends of stdout and stderr
	reads  sync.WaitGroup // of output

	ended chan struct{} // closed when it, its group and its output have ended
	err   error         // then: how it ended; nil for status 0

	mu   sync.Mutex
	tail []string // its last lines
}

// start runs the spec's command on a copy of the image's files: what it writes
// there is its own, and goes with it. A problem is an answer about the spec;
// any other error one of this machine.
func (s *Server) start(sp spec) (_ *process, err error) {
	port, err := s.takePort()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", sp.name, err)
	}
	mark := rand.Text()
	p := &process{
		s: s, port: port, ended: make(chan struct{}),
		record: processRecord{Name: sp.name, Boot: bootID(), Mark: mark, Dir: filepath.Join(s.workDir(), sp.name+"."+mark)},
	}
	defer func() {
		if err != nil {
			s.givePort(port)
			err = errors.Join(err, s.forgetProcess(p.record))
		}
	}()
	if err := os.CopyFS(p.record.Dir, os.DirFS(sp.tree.files)); err != nil {
		return nil, fmt.Errorf("start %s: %w", sp.name, err)
	}
	if err := os.MkdirAll(inside(p.record.Dir, "tmp"), 0o700); err != nil {
		return nil, fmt.Errorf("start %s: %w", sp.name, err)
	}
	file, err := sp.program(p.record.Dir)
	if err != nil {
		return nil, err
	}
	if err := p.spawn(sp, file); err != nil {
		return nil, fmt.Errorf("start %s: %w", sp.name, err)
	}
	return p, nil
}

// spawn starts the program behind the gate, records it and opens the gate.
func (p *process) spawn(sp spec, file string) error {
	var pipes pipes
	gateR, gateW := pipes.open()
	outR, outW := pipes.open()
	errR, errW := pipes.open()
	if pipes.err != nil {
		return errors.Join(pipes.err, pipes.close())
	}
	cmd := exec.Command("/bin/sh", append([]string{"-c", gate, "sh", file}, sp.argv[1:]...)...) //nolint:noctx // it outlives every call; stop ends it
	cmd.Dir = inside(p.record.Dir, sp.tree.image.WorkingDir)
	cmd.Env = sp.environ(p.record.Dir, strconv.Itoa(p.port), p.record.Mark)
	cmd.Stdout, cmd.Stderr = outW, errW
	cmd.ExtraFiles = []*os.File{gateR}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return errors.Join(err, pipes.close())
	}
	p.cmd, p.output = cmd, []*os.File{outR, errR}
	err := p.admit(sp.memory)
	if err == nil {
		_, err = io.WriteString(gateW, "\n")
	}
	err = errors.Join(err, gateW.Close(), gateR.Close(), outW.Close(), errW.Close())
	if err != nil {
		_ = cmd.Process.Kill() // it ends by itself, too: the gate is shut for good
		_ = cmd.Wait()         // its status tells nothing
		return errors.Join(err, outR.Close(), errR.Close())
	}
	p.s.mu.Lock()
	p.s.alive[p] = struct{}{}
	p.s.mu.Unlock()
	p.reads.Go(func() { eachLine(outR, func(text string) { p.line("stdout", text) }) })
	p.reads.Go(func() { eachLine(errR, func(text string) { p.line("stderr", text) }) })
	p.s.all.Go(p.wait)
	return nil
}

// admit records the process that waits at the gate, and limits it.
func (p *process) admit(memory int64) error {
	p.record.PID, p.record.Group = p.cmd.Process.Pid, p.cmd.Process.Pid
	st, _ := readStat(p.record.PID) // none where the machine does not tell
	p.record.Started = st.started
	if memory > 0 {
		p.record.Control = p.s.control.path(p.record.Name, p.record.Mark)
	}
	if err := p.s.recordProcess(p.record); err != nil {
		return err
	}
	return p.s.control.admit(p.record.Control, p.record.PID, memory)
}

// wait awaits the end of the program, kills what it leaves behind, reads the
// output to its end and clears everything away.
func (p *process) wait() {
	var left error
	p.err = collect(p.cmd, func() {
		_ = syscall.Kill(-p.record.Group, syscall.SIGKILL) // nobody is left, most often
		_, left = p.record.clear(context.Background())     // bounded by killTime
		p.s.mu.Lock()
		delete(p.s.alive, p) // from here on its number may be another's
		p.s.mu.Unlock()
	})
	timer := time.AfterFunc(drainTime, func() {
		for _, r := range p.output {
			_ = r.SetReadDeadline(time.Unix(1, 0))
		}
	})
	p.reads.Wait()
	timer.Stop()
	for _, r := range p.output {
		left = errors.Join(left, r.Close())
	}
	if left == nil {
		left = p.s.forgetProcess(p.record) // else the next start tries again
	}
	if left != nil {
		p.s.cfg.Log.Error("process not cleared away", "name", p.record.Name, "pid", p.record.PID, "err", left)
	}
	p.s.givePort(p.port)
	close(p.ended)
}

// stop asks the group to end, makes it after the grace, and waits until it has.
func (p *process) stop(grace time.Duration) {
	p.signal(syscall.SIGTERM)
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.ended:
	case <-timer.C:
		p.signal(syscall.SIGKILL)
		<-p.ended
	}
}

// signal sends a signal to the group unless it has ended.
func (p *process) signal(sig syscall.Signal) {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	if _, alive := p.s.alive[p]; alive {
		_ = syscall.Kill(-p.record.Group, sig) // nobody there: it is just ending
	}
}

// line takes one line of output.
func (p *process) line(stream, text string) {
	p.mu.Lock()
	p.tail = append(p.tail[max(0, len(p.tail)-tailLines+1):], text)
	p.mu.Unlock()
	line := LogLine{At: p.s.cfg.Now(), Stream: stream, Text: text}
	if err := p.s.logs.write(p.record.Name, line); err != nil {
		p.s.cfg.Log.Error("line not logged", "err", err)
	}
	p.s.cfg.Logged(p.record.Name, line)
}

// lastLines are the last lines of output, each cut to what a message holds.
func (p *process) lastLines() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	lines := make([]string, len(p.tail))
	for i, l := range p.tail {
		lines[i] = cut(l, 200)
	}
	return lines
}

// address is where the process answers: host:port.
func (p *process) address() string { return net.JoinHostPort(loopback, strconv.Itoa(p.port)) }

// takePort finds a free port. Until givePort no other process gets it from here.
func (s *Server) takePort() (int, error) {
	for {
		l, err := net.Listen("tcp", net.JoinHostPort(loopback, "0")) //nolint:noctx // a local socket: it does not wait
		if err != nil {
			return 0, err
		}
		addr, _ := l.Addr().(*net.TCPAddr)
		if err := l.Close(); err != nil {
			return 0, err
		}
		s.mu.Lock()
		taken := s.ports[addr.Port]
		s.ports[addr.Port] = true
		s.mu.Unlock()
		if !taken {
			return addr.Port, nil
		}
	}
}

func (s *Server) givePort(port int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.ports, port)
}

// pipes opens several pipes, and closes them all when one cannot be.
type pipes struct {
	ends []*os.File
	err  error
}

func (p *pipes) open() (r, w *os.File) {
	if p.err != nil {
		return nil, nil
	}
	if r, w, p.err = os.Pipe(); p.err == nil {
		p.ends = append(p.ends, r, w)
	}
	return r, w
}

func (p *pipes) close() error {
	var errs []error
	for _, f := range p.ends {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}

// cut keeps text to so many bytes.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && text[limit]&0xC0 == 0x80 { // inside a character
		limit--
	}
	return text[:limit] + "..."
}
