package suite

import (
	"fmt"

	"github.com/sanelite/sanelite/internal/bench/harness"
	"github.com/sanelite/sanelite/internal/bench/web"
)

// Web are the workloads that go over HTTP.
func Web() []harness.Workload {
	list := []harness.Workload{}
	for _, pinned := range []bool{false, true} {
		list = append(list,
			crud(web.WorkRead, "one user by id", pinned),
			crud(web.WorkList, "20 users, anywhere in the list", pinned),
			crud(web.WorkCreate, "one more user, who is answered as stored", pinned),
			crud(web.WorkUpdate, "another name for one of 50,000, who is answered as stored", pinned),
			crud(web.WorkDelete, "one user less", pinned),
			crud(web.WorkHealth, "the health check, which asks the database", pinned),
		)
	}
	return append(list, tenantsWrite(), tenants200(), tenantsFiles())
}

const (
	crudClients   = 50
	tenantClients = 64
)

// crud compares examples/crud with the same service on other runtimes.
func crud(work web.Work, title string, pinned bool) harness.Workload {
	w := harness.Workload{
		Name: "web-" + string(work), Unit: "request",
		Title: fmt.Sprintf("%s; %d keep-alive clients, services and clients on all processors", title, crudClients),
	}
	if pinned {
		w.Name += "-pinned"
		w.Title = fmt.Sprintf("%s; %d keep-alive clients, the service on one processor, the clients on another", title, crudClients)
	}
	w.Open = func(dir string) ([]harness.Side, func() error, error) {
		spec := web.Spec{Work: work, Clients: crudClients}
		if pinned {
			spec.ServiceOn, spec.ClientsOn = "0", "1"
		}
		specs := []web.Spec{spec, spec, spec}
		for i, service := range []web.Service{web.Crud, web.CrudBun, web.CrudNode} {
			specs[i].Service = service
		}
		specs, done := web.Sides(dir, specs...)
		ours := specs[0].Side(sanelite + ", net/http")
		ours.Limits = faultless()
		bun, node := specs[1].Side("Bun, Hono, bun:sqlite"), specs[2].Side("Node.js, Hono, better-sqlite3")
		ahead, twice := speedup(ours.Name, harness.AtLeast, 1), speedup(ours.Name, harness.AtLeast, 2)
		if work == web.WorkHealth {
			ahead.Op = harness.NoTarget
		}
		bun.Compare, node.Compare = []harness.Compare{ahead}, []harness.Compare{twice}
		return []harness.Side{ours, bun, node}, done, nil
	}
	return w
}

// faultless are the limits of every service of ours.
func faultless(more ...harness.Limit) []harness.Limit {
	return append(more,
		harness.Limit{Figure: web.FigureErrors, Op: harness.AtMost, Than: 0},
		harness.Limit{Figure: web.FigureBusy, Op: harness.AtMost, Than: 0},
	)
}

// Figures that another system of one file per app published, for 64 clients and for 200 apps.
const (
	publishedWrites    = 1819 // per second
	publishedWritesSay = "1,819/s"
	publishedRSSSay    = "787 MB"
)

func tenantsWrite() harness.Workload {
	return harness.Workload{
		Name: "tenants-write", Unit: "request",
		Title: fmt.Sprintf("one more item in one app; %d clients over HTTP", tenantClients),
		Open: func(dir string) ([]harness.Side, func() error, error) {
			spec := web.Spec{Service: web.Tenants, Work: web.WorkItems, Clients: tenantClients, Apps: 1}
			one := spec
			one.ServiceOn, one.ClientsOn = "0", "1"
			specs, done := web.Sides(dir, one, spec)
			onOne, onTwo := specs[0].Side("service on one processor"), specs[1].Side("service on all processors")
			onOne.Published = publishedWritesSay
			onOne.Limits = faultless(
				harness.Limit{Figure: harness.PerSecond, Op: harness.AtLeast, Than: 5 * publishedWrites},
				harness.Limit{Figure: harness.P99Millis, Op: harness.AtMost, Than: 30},
			)
			onTwo.Limits = faultless()
			onTwo.Compare = []harness.Compare{gain(onOne.Name, harness.NoTarget, 0)}
			return []harness.Side{onOne, onTwo}, done, nil
		},
	}
}

func tenants200() harness.Workload {
	return harness.Workload{
		Name: "tenants-200", Unit: "request",
		Title: fmt.Sprintf("200 apps, all open; an item written and read again in one after the other; %d clients over HTTP", tenantClients),
		Open: func(dir string) ([]harness.Side, func() error, error) {
			specs, done := web.Sides(dir, web.Spec{Service: web.Tenants, Work: web.WorkMix, Clients: tenantClients, Apps: 200})
			side := specs[0].Side("200 apps")
			side.Published = publishedRSSSay
			side.Limits = faultless(harness.Limit{Figure: web.FigureRSS, Op: harness.AtMost, Than: 150})
			return []harness.Side{side}, done, nil
		},
	}
}

func tenantsFiles() harness.Workload {
	return harness.Workload{
		Name: "tenants-files", Unit: "request",
		Title: fmt.Sprintf("one more item, in the one app that there is, or in one of 200 after the other; %d clients over HTTP", tenantClients),
		Open: func(dir string) ([]harness.Side, func() error, error) {
			spec := web.Spec{Service: web.Tenants, Work: web.WorkItems, Clients: tenantClients, Apps: 1}
			many := spec
			many.Apps = 200
			specs, done := web.Sides(dir, spec, many)
			one, files := specs[0].Side("1 file"), specs[1].Side("200 files")
			one.Limits, files.Limits = faultless(), faultless()
			files.Compare = []harness.Compare{speedup(one.Name, harness.NoTarget, 0)}
			return []harness.Side{one, files}, done, nil
		},
	}
}
