package scan

import (
	"database/sql"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sanelite/sanelite/internal/sqlerr"
)

type audit struct {
	CreatedAt time.Time
	Changed   *time.Time `db:",unixmilli"`
}

type Owner struct {
	OwnerID int64
	*Team
}

type Team struct{ TeamName string }

type user struct {
	ID     int64
	Name   string
	Mail   sql.Null[string] `db:"e_mail"`
	Tags   []string         `db:",json"`
	Seen   time.Time        `db:"seen,unix"`
	Active bool
	Rating *float64
	hidden int
	audit
	*Owner
}

func TestColumnsGoToTaggedNamedAndEmbeddedFields(t *testing.T) {
	got, err := one[user](t, open(t), `SELECT 'Ann' AS name, 1 AS ID, 'a@b' AS e_mail, '["x","y"]' AS tags, 1700000000 AS seen,
		1 AS active, 4.5 AS rating, '2024-01-02 03:04:05' AS created_at, 1700000000123 AS changed`)
	require.NoError(t, err)
	assert.Equal(t, user{
		ID: 1, Name: "Ann", Mail: sql.Null[string]{V: "a@b", Valid: true}, Tags: []string{"x", "y"},
		Seen: time.Unix(1700000000, 0).UTC(), Active: true, Rating: ptr(4.5),
		audit: audit{time.Date(2024, 1, 2, 3, 4, 5, 0, time.UTC), ptr(time.UnixMilli(1700000000123).UTC())},
	}, got)
	assert.Zero(t, got.hidden)
}

func TestFieldsWithoutAColumnStayZeroAndNullMeansNil(t *testing.T) {
	got, err := one[user](t, open(t), `SELECT NULL AS tags, NULL AS rating, NULL AS e_mail, NULL AS changed`)
	require.NoError(t, err)
	assert.Equal(t, user{}, got)
}

func TestStructsEmbeddedByPointerAreAllocatedWhereAColumnNeedsThem(t *testing.T) {
	c := open(t)
	got, err := one[user](t, c, `SELECT 'blue' AS team_name, 7 AS owner_id`)
	require.NoError(t, err)
	assert.Equal(t, user{Owner: &Owner{OwnerID: 7, Team: &Team{"blue"}}}, got)
	got, err = one[user](t, c, `SELECT 7 AS owner_id`)
	require.NoError(t, err)
	assert.Equal(t, user{Owner: &Owner{OwnerID: 7}}, got)

	s := prepare(t, c, `SELECT 'a' AS team_name UNION ALL SELECT 'b'`)
	defer s.Finalize()
	p, err := PlanFor[Owner](s)
	require.NoError(t, err)
	require.True(t, p.Static)
	var o Owner
	var teams []*Team
	for range 2 {
		_, err := s.Step()
		require.NoError(t, err)
		require.NoError(t, p.ScanStatic(s, &o))
		teams = append(teams, o.Team)
	}
	assert.Equal(t, []*Team{{"a"}, {"b"}}, teams, "rows share nothing")
}

func TestAColumnWithoutAFieldAndTwoForOneAreErrors(t *testing.T) { // case S8
	c := open(t)
	type n struct{ N int }
	noPlan[n](t, c, `SELECT 1 AS n, 2 AS n`, `"n"`, "scan.n.N")
	noPlan[n](t, c, `SELECT 1 AS n, 2 AS N`, `"n"`, `"N"`)
	noPlan[n](t, c, `SELECT 1 AS n, 2 AS m`, `"m"`, "scan.n")
	noPlan[user](t, c, `SELECT 1 AS hidden`, `"hidden"`)
	noPlan[struct{ C chan int }](t, c, `SELECT 1 AS c`, `"c"`, "chan int")
	noPlan[struct {
		N int `db:",unix"`
	}](t, c, `SELECT 1 AS n`, "unix")
}

func TestAFieldThatCannotHoldItsValueIsNamed(t *testing.T) {
	c := open(t)
	for q, says := range map[string][]string{
		`SELECT NULL AS id`:    {`"id"`, "NULL", "scan.user.ID", "int64"},
		`SELECT 'x' AS id`:     {`"id"`, "TEXT", "scan.user.ID"},
		`SELECT 7 AS name`:     {`"name"`, "INTEGER", "scan.user.Name", "string"},
		`SELECT 'x' AS rating`: {`"rating"`, "TEXT", "scan.user.Rating"},

		`SELECT 'x' AS e_mail, 3 AS seen, 'x' AS active`: {`"active"`, "bool"},
		`SELECT 'x' AS seen`:                             {`"seen"`, "TEXT", "scan.user.Seen"},
		`SELECT 1.0 AS seen`:                             {`"seen"`, "REAL"},
		`SELECT 253402300800 AS seen`:                    {`"seen"`, "out of range"},
		`SELECT '{"a"' AS tags`:                          {`"tags"`, "TEXT", "scan.user.Tags"},
		`SELECT 7 AS tags`:                               {`"tags"`, "INTEGER"},
		`SELECT 'x' AS created_at`:                       {`"created_at"`, "scan.user.audit.CreatedAt", "not a time"},
	} {
		_, err := one[user](t, c, q)
		require.ErrorIs(t, err, sqlerr.ErrScan, q)
		for _, text := range says {
			assert.ErrorContains(t, err, text, q)
		}
	}
}

func TestJSONIsReadFromTextAndBlobAndNullOnlyIntoWhatCanBeNil(t *testing.T) {
	type doc struct {
		M map[string]int   `db:",json"`
		S struct{ A int }  `db:",json"`
		P *struct{ A int } `db:",json"`
	}
	c := open(t)
	got, err := one[doc](t, c, `SELECT '{"a":1}' AS m, CAST('{"A":2}' AS BLOB) AS s, '{"A":3}' AS p`)
	require.NoError(t, err)
	assert.Equal(t, doc{M: map[string]int{"a": 1}, S: struct{ A int }{2}, P: &struct{ A int }{3}}, got)
	got, err = one[doc](t, c, `SELECT NULL AS m, NULL AS p`)
	require.NoError(t, err)
	assert.Equal(t, doc{}, got)
	_, err = one[doc](t, c, `SELECT NULL AS s`)
	assert.ErrorIs(t, err, sqlerr.ErrScan)
}
