package sqlitex_test

func childStress(args []string) {}
