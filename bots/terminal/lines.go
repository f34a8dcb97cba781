package terminal

import (
	"bufio"
	"errors"
	"io"
)

// ErrLongLine is told of a line that is longer than is read; nothing of it is.
var ErrLongLine = errors.New("the line is too long")

// maxLine bounds a line that is typed, in bytes: MaxText code points, and the verb before them.
const maxLine = 4*MaxText + 1000

// Lines gives each line that is typed to take, without its end, until there are
// no more, or take returns an error, which it returns. A line longer than is
// read is told as ErrLongLine, and the next one is read.
func Lines(in io.Reader, take func(line string, err error) error) error {
	lines := bufio.NewReaderSize(in, 4<<10)
	for {
		line, err := readLine(lines, maxLine)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, io.ErrUnexpectedEOF): // the last one has no end
			return take(string(line), nil)
		case errors.Is(err, ErrLongLine):
			if err := take("", err); err != nil {
				return err
			}
			continue
		case err != nil:
			return err
		}
		if err := take(string(line), nil); err != nil {
			return err
		}
	}
}

// readLine reads a line of at most limit bytes, without its end. A last one that
// has none comes with io.ErrUnexpectedEOF; one that is longer is read past.
func readLine(in *bufio.Reader, limit int) (line []byte, err error) {
	long := false
	for {
		piece, err := in.ReadSlice('\n')
		if long = long || len(line)+len(piece) > limit+1; !long {
			line = append(line, piece...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && !errors.Is(err, io.EOF):
			return nil, err
		case long:
			return nil, ErrLongLine
		case err != nil && len(line) == 0:
			return nil, io.EOF
		case err != nil:
			return line, io.ErrUnexpectedEOF
		}
		return line[:len(line)-1], nil
	}
}
