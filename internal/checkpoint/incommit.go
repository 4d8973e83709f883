package checkpoint

// InCommit leaves checkpoints to SQLite, which makes them in the COMMIT that fills the log, where Options leave them to this
// package. Benchmarks set it before Open, to tell the one from the other; nothing else does.
var InCommit bool
