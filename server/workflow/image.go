package workflow

import (
	"archive/tar"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"platform.dev/platform/flowclient"
)

// What an image holds and how it is labelled.
const (
	siteDir       = "site" // where the root's files stand in the image, without the leading slash
	labelRevision = "org.opencontainers.image.revision"
	pushLimit     = 5 * time.Minute
)

// The bounds of an image.
const (
	maxImageEntries = 20_000
	maxImageBytes   = 256 << 20
)

// publish makes the image of what the stages have left in the pipeline's image
// root and pushes it, tagged with the commit. What it gives names it by digest.
func (l *life) publish(ctx context.Context, j *journal) (outcome, error) {
	out, err := l.pushImage(ctx, j)
	if err != nil {
		j.printf("%v", err)
	}
	return out, err
}

// pushImage is publish without its log's frame.
func (l *life) pushImage(ctx context.Context, j *journal) (outcome, error) {
	workload, err := l.workload()
	if err != nil {
		return outcome{}, err
	}
	tag, err := l.imageName()
	if err != nil {
		return outcome{}, err
	}
	dir, err := l.source.workdir(l.rec.Params)
	if err == nil {
		dir, err = l.source.below(dir, "image.root", l.module.Image.Root)
	}
	if err != nil {
		return outcome{}, err
	}
	layer := filepath.Join(l.dir, "layer.tar")
	total, err := writeLayer(layer, dir, l.source.at)
	if err != nil {
		return outcome{}, fmt.Errorf("image of %s: %w", l.module.Image.Root, err)
	}
	img, err := makeImage(layer, l.source)
	if err != nil {
		return outcome{}, fmt.Errorf("make image: %w", err)
	}
	digest, err := img.Digest()
	if err != nil {
		return outcome{}, fmt.Errorf("make image: %w", err)
	}
	j.printf("pushing %d files, %d bytes, to %s", total.files, total.bytes, tag)
	ctx, cancel := context.WithTimeout(ctx, pushLimit)
	defer cancel()
	err = remote.Write(tag, img, remote.WithContext(ctx), remote.WithTransport(l.s.cfg.RegistryTransport),
		remote.WithAuth(&authn.Basic{Username: l.s.cfg.RegistryUser, Password: l.s.cfg.RegistryToken}))
	if err != nil {
		return outcome{}, fmt.Errorf("push %s: %w", tag, err)
	}
	image := tag.Digest(digest.String()).String()
	j.printf("pushed %s", image)
	workload.Container.Image = image
	return outcome{image: image, workload: &workload}, nil
}

// imageName is <registry>/<project>/<imageName>:<commit>; imageName is the component's where none is given.
func (l *life) imageName() (name.Tag, error) {
	image := cmp.Or(l.rec.Params.ImageName, l.rec.Component)
	tag, err := name.NewTag(l.s.cfg.Registry+"/"+l.rec.Project+"/"+image+":"+l.source.commit, name.StrictValidation)
	if err != nil || !nameShape.MatchString(image) {
		return name.Tag{}, &flowclient.Invalid{Field: "imageName", Value: image, Why: "must be lower-case letters, digits, dots and dashes"}
	}
	return tag, nil
}

// makeImage is the image of one layer whose every time is the commit's, so that a commit has one digest.
func makeImage(layerPath string, src source) (v1.Image, error) {
	// The layer is stored, not compressed: its digest must not hang on a compressor's taste.
	layer, err := tarball.LayerFromFile(layerPath,
		tarball.WithCompressionLevel(gzip.NoCompression), tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	config, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.Created = v1.Time{Time: src.at}
	config.OS, config.Architecture = "linux", "amd64" // constant, whatever machine builds: the files run nowhere
	config.Config.WorkingDir = "/" + siteDir
	config.Config.Labels = map[string]string{labelRevision: src.commit}
	if img, err = mutate.ConfigFile(img, config); err != nil {
		return nil, err
	}
	return mutate.Append(img, mutate.Addendum{
		Layer:     layer,
		MediaType: types.OCILayer,
		History:   v1.History{Created: v1.Time{Time: src.at}, CreatedBy: "files of commit " + src.commit},
	})
}

// tally is what a layer holds.
type tally struct {
	entries, files int
	bytes          int64
}

// writeLayer writes the files of dir as a layer. Links are followed as long as
// they stay in dir; owners, times and all rights but "executable" are left
// out, so that only names and bytes count.
func writeLayer(layerPath, dir string, at time.Time) (total tally, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return total, err
	}
	defer root.Close()
	f, err := os.OpenFile(layerPath, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return total, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	tw := tar.NewWriter(f)
	// fs.WalkDir goes in lexical order.
	err = fs.WalkDir(root.FS(), ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if total.entries++; total.entries > maxImageEntries {
			return fmt.Errorf("there are more than %d files and directories", maxImageEntries)
		}
		return addFile(tw, root, p, at, &total)
	})
	if err == nil && total.files == 0 {
		err = errors.New("there is no file in it")
	}
	return total, errors.Join(err, tw.Close())
}

// addFile adds one file or directory to a layer.
func addFile(tw *tar.Writer, root *os.Root, p string, at time.Time, total *tally) error {
	info, err := root.Stat(p) // follows a link, within root only
	if err != nil {
		return err
	}
	hdr := &tar.Header{Name: path.Join(siteDir, p), ModTime: at, Mode: 0o644, Size: info.Size(), Typeflag: tar.TypeReg}
	switch {
	case info.IsDir():
		if link, err := root.Lstat(p); err != nil || !link.IsDir() {
			return errors.Join(err, fmt.Errorf("%s is a link to a directory; only links to files can be followed", p))
		}
		hdr.Name, hdr.Mode, hdr.Size, hdr.Typeflag = hdr.Name+"/", 0o755, 0, tar.TypeDir
		return tw.WriteHeader(hdr)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is neither a file nor a directory", p)
	case info.Mode()&0o100 != 0:
		hdr.Mode = 0o755
	}
	total.files++
	if total.bytes += info.Size(); total.bytes > maxImageBytes {
		return fmt.Errorf("its files are more than %d bytes", maxImageBytes)
	}
	if err := tw.WriteHeader(hdr); err != nil {
		return err
	}
	in, err := root.Open(p)
	if err != nil {
		return err
	}
	defer in.Close()
	_, err = io.Copy(tw, in)
	return err
}
