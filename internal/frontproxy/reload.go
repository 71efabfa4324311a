//go:build unix

package frontproxy

import (
	"fmt"
	"time"
)

// reloadWait is how long a proxy may take to notice that it shall reload.
const reloadWait = time.Second

// Reload makes the proxy read its configuration again, and waits until it has. Old
// workers may still be ending then.
func (p *Proxy) Reload() error {
	switch {
	case !p.kind.Reloads():
		return fmt.Errorf("frontproxy: %s can't reload", p.kind.Name)
	case p.kind.reloadArgs != nil:
		return p.runReload()
	}
	front, running := p.Front(), p.kind.programs[len(p.kind.programs)-1].running
	begun, loads := front.Said(p.kind.reloading), front.Said(running)
	var err error
	for range 5 { // HAProxy's master can miss a signal right after it has said that it runs
		if err := front.Signal(p.kind.reload); err != nil {
			return err
		}
		if err = front.Await(p.kind.reloading, begun+1, reloadWait); err == nil {
			return front.Await(running, loads+1, StartTime)
		}
	}
	return err
}

// runReload runs the command that tells the front program to reload, and waits for it.
func (p *Proxy) runReload() error {
	proc, err := StartProcess(p.paths[len(p.paths)-1], p.kind.reloadArgs(p.setup)...)
	if err != nil {
		return err
	}
	timer := time.AfterFunc(StartTime, proc.Kill)
	defer timer.Stop()
	if err := proc.Wait(); err != nil {
		return fmt.Errorf("frontproxy: reload of %s: %w", p.kind.Name, err)
	}
	return nil
}
