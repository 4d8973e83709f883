package pragma_test

import (
	"reflect"
	"testing"

	"github.com/sanelite/sanelite/pragma"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestZeroConfigMeansDefault(t *testing.T) {
	t.Parallel()
	assert.Equal(t, pragma.Default(), pragma.Config{}.WithDefaults())
	assert.Equal(t, pragma.Default(), pragma.Default().WithDefaults())
}

func TestDefaultFillsInEveryFieldThatIsNotLeftAlone(t *testing.T) {
	t.Parallel()
	left := map[string]bool{"PageSize": true, "AutoVacuum": true, "SecureDelete": true}
	v := reflect.ValueOf(pragma.Default())
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		assert.Equal(t, left[name], v.Field(i).IsZero(), name)
	}
}

func TestReadFillsInEveryField(t *testing.T) {
	t.Parallel()
	for _, path := range []string{":memory:", newFile(t)} {
		got, err := pragma.Read(open(t, path)) // with SQLite's own settings
		require.NoError(t, err)
		v := reflect.ValueOf(got)
		for i := range v.NumField() {
			assert.False(t, v.Field(i).IsZero(), v.Type().Field(i).Name)
		}
	}
}

func TestAppliedConfigIsReadBack(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]pragma.Config{
		"Default":      pragma.Default(),
		"Durable":      pragma.Durable(),
		"RollbackFull": pragma.RollbackFull(),
		"NoSync":       pragma.NoSync(),
		"everything otherwise": {
			JournalMode: pragma.JournalPersist, Synchronous: pragma.SyncExtra, FullFsync: pragma.On, BusyTimeout: -1,
			ForeignKeys: pragma.Off, CacheSize: 7 * pragma.KiB, MmapSize: pragma.MiB, TempStore: pragma.TempCompiled,
			PageSize: 1024, AutoVacuum: pragma.AutoVacuumFull, WALAutoCheckpoint: -1, JournalSizeLimit: -1,
			TrustedSchema: pragma.On, CellSizeCheck: pragma.Off, AnalysisLimit: -1, SecureDelete: pragma.SecureDeleteFast,
			RecursiveTriggers: pragma.On,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := open(t, newFile(t))
			require.NoError(t, pragma.Apply(c, cfg))
			got, err := pragma.Read(c)
			require.NoError(t, err)

			want := cfg
			if want.PageSize == 0 {
				want.PageSize, want.AutoVacuum, want.SecureDelete = 4096, pragma.AutoVacuumNone, pragma.SecureDeleteOff
			}
			assert.Equal(t, want, got)

			other := open(t, newFile(t))
			require.NoError(t, pragma.Apply(other, got), "what was read can be applied")
			again, err := pragma.Read(other)
			require.NoError(t, err)
			assert.Equal(t, got, again)
		})
	}
}

func TestReadGivesACacheCountedInPagesInBytes(t *testing.T) {
	t.Parallel()
	c := open(t, newFile(t))
	for set, want := range map[string]pragma.Size{"100": 400 * pragma.KiB, "0": pragma.KiB, "-5": 5 * pragma.KiB} {
		get(t, c, "PRAGMA cache_size="+set)
		got, err := pragma.Read(c)
		require.NoError(t, err)
		assert.Equal(t, want, got.CacheSize, "cache_size=%s", set)
	}
}

func TestValidateNamesTheField(t *testing.T) {
	t.Parallel()
	for field, configs := range map[string][]pragma.Config{
		"JournalMode":       {{JournalMode: "WAL"}, {JournalMode: "wal;"}, {JournalMode: "nonsense"}},
		"Synchronous":       {{Synchronous: -1}, {Synchronous: 5}},
		"FullFsync":         {{FullFsync: 3}},
		"ForeignKeys":       {{ForeignKeys: -1}, {ForeignKeys: 3}},
		"CacheSize":         {{CacheSize: 1 << 62}},
		"TempStore":         {{TempStore: 4}},
		"PageSize":          {{PageSize: -1}, {PageSize: 256}, {PageSize: 1000}, {PageSize: 128 * pragma.KiB}},
		"AutoVacuum":        {{AutoVacuum: 4}},
		"WALAutoCheckpoint": {{WALAutoCheckpoint: 1 << 31}},
		"TrustedSchema":     {{TrustedSchema: 3}},
		"CellSizeCheck":     {{CellSizeCheck: 3}},
		"AnalysisLimit":     {{AnalysisLimit: 1 << 31}},
		"SecureDelete":      {{SecureDelete: 4}},
		"RecursiveTriggers": {{RecursiveTriggers: 3}},
	} {
		for _, cfg := range configs {
			assert.ErrorContains(t, cfg.Validate(), "pragma: Config."+field+": ", "%+v", cfg)
		}
	}
	assert.NoError(t, pragma.Config{}.Validate())
	assert.NoError(t, pragma.Default().Validate())
}

func TestValuesPrintAsWords(t *testing.T) {
	t.Parallel()
	for want, value := range map[string]interface{ String() string }{
		"0 B": pragma.Size(0), "1000 B": pragma.Size(1000), "-1 B": pragma.Size(-1), "4 KiB": 4 * pragma.KiB,
		"64 MiB": 64 * pragma.MiB, "1025 KiB": pragma.MiB + pragma.KiB, "2 GiB": 2 * pragma.GiB,
		"on": pragma.On, "off": pragma.Off, "default": pragma.Flag(0), "9": pragma.Flag(9), "-1": pragma.Flag(-1),
		"normal": pragma.SyncNormal, "extra": pragma.SyncExtra, "memory": pragma.TempMemory, "compiled": pragma.TempCompiled,
		"incremental": pragma.AutoVacuumIncremental, "leave": pragma.AutoVacuum(0), "fast": pragma.SecureDeleteFast,
	} {
		assert.Equal(t, want, value.String())
	}
}

func TestAMemoryMapSwitchesTheCellSizeCheckOff(t *testing.T) {
	t.Parallel()
	assert.Equal(t, pragma.On, pragma.Config{}.WithDefaults().CellSizeCheck)
	assert.Equal(t, pragma.Off, pragma.Config{MmapSize: pragma.MiB}.WithDefaults().CellSizeCheck)
	assert.Equal(t, pragma.On, pragma.Config{MmapSize: pragma.MiB, CellSizeCheck: pragma.On}.WithDefaults().CellSizeCheck)
}
