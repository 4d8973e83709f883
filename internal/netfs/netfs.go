// Package netfs tells whether a folder lies on a network filesystem, where SQLite's locks and the shared memory of its
// write-ahead log cannot be relied on (https://www.sqlite.org/useovernet.html, https://www.sqlite.org/wal.html).
//
// It knows filesystems by the magic numbers of Linux. Elsewhere every folder counts as local.
package netfs

// Kind says how far a filesystem can be trusted with a database.
type Kind int

const (
	Local      Kind = iota // nothing is known against it
	Suspicious             // may be remote, or a local disk behind a protocol: worth a line in the log
	Network                // remote: a database there must be refused
)

// String returns "local", "suspicious" or "network".
func (k Kind) String() string {
	switch k {
	case Local:
		return "local"
	case Suspicious:
		return "suspicious"
	default:
		return "network"
	}
}

// Check returns the kind of filesystem that dir lies on, and its name unless it is local. It follows symbolic links; the folder
// to ask about is that of the database itself, not that of a link to it. The error is an [*fs.PathError].
func Check(dir string) (kind Kind, name string, err error) {
	return check(dir)
}

// classify knows the magic numbers of statfs(2) and of the kernel's linux/magic.h.
func classify(magic uint32) (kind Kind, name string) {
	switch magic {
	case 0x6969:
		return Network, "NFS"
	case 0x517B:
		return Network, "SMB"
	case 0xFF534D42:
		return Network, "CIFS"
	case 0xFE534D42:
		return Network, "SMB2"
	case 0x5346414F, 0x6B414653: // OpenAFS and the kernel's own
		return Network, "AFS"

	case 0x65735546: // sshfs and s3fs, but also ntfs-3g and virtiofs
		return Suspicious, "FUSE"
	case 0x01021997: // the host's folders in virtual machines
		return Suspicious, "9p"
	case 0x786F4256: // likewise
		return Suspicious, "VirtualBox shared folder"
	case 0x00C36400:
		return Suspicious, "Ceph"
	case 0x0BD00BD0:
		return Suspicious, "Lustre"
	case 0x01161970:
		return Suspicious, "GFS2"
	case 0x7461636F:
		return Suspicious, "OCFS2"
	case 0x73757245:
		return Suspicious, "Coda"
	case 0x564C:
		return Suspicious, "NCP"
	}
	return Local, ""
}
