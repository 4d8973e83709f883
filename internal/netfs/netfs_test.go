package netfs

import (
	"io/fs"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestClassifyKnowsMagicNumbers(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		magic uint32
		kind  Kind
		name  string
	}{
		{0x6969, Network, "NFS"},
		{0x517B, Network, "SMB"},
		{0xFF534D42, Network, "CIFS"},
		{0xFE534D42, Network, "SMB2"},
		{0x5346414F, Network, "AFS"},
		{0x6B414653, Network, "AFS"},
		{0x65735546, Suspicious, "FUSE"},
		{0x01021997, Suspicious, "9p"},
		{0x786F4256, Suspicious, "VirtualBox shared folder"},
		{0x00C36400, Suspicious, "Ceph"},
		{0x0BD00BD0, Suspicious, "Lustre"},
		{0x01161970, Suspicious, "GFS2"},
		{0x7461636F, Suspicious, "OCFS2"},
		{0x73757245, Suspicious, "Coda"},
		{0x564C, Suspicious, "NCP"},
		{0xEF53, Local, ""},     // ext4
		{0x58465342, Local, ""}, // XFS
		{0x9123683E, Local, ""}, // Btrfs
		{0x01021994, Local, ""}, // tmpfs, one digit from 9p
		{0x794C7630, Local, ""}, // overlayfs
		{0x2FC12FC1, Local, ""}, // ZFS
		{0, Local, ""},
	} {
		kind, name := classify(test.magic)
		assert.Equal(t, test.kind, kind, "%#x", test.magic)
		assert.Equal(t, test.name, name, "%#x", test.magic)
	}
}

func TestCheckAsksTheSystem(t *testing.T) {
	t.Parallel()
	kind, name, err := Check(t.TempDir())
	require.NoError(t, err)
	assert.Equal(t, kind == Local, name == "", "only a filesystem that is not local is named: %v %q", kind, name)
}

func TestCheckOfAMissingFolderNamesIt(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("nothing is asked here")
	}
	missing := filepath.Join(t.TempDir(), "missing")
	_, _, err := Check(missing)
	require.ErrorIs(t, err, fs.ErrNotExist)
	assert.ErrorContains(t, err, missing)
}

func TestKindPrintsAsAWord(t *testing.T) {
	t.Parallel()
	for kind, want := range map[Kind]string{Local: "local", Suspicious: "suspicious", Network: "network"} {
		assert.Equal(t, want, kind.String())
	}
}
