/** The machines that share the event log, and how each stands. */
import { html } from 'hono/html';
import type { ReplicationView } from '../condition/replication.ts';
import { duration, quantity } from './figures.ts';
import type { Html } from '../../web/html.ts';

interface Machine {
  readonly name: string;
  readonly does: string;
  readonly how: string;
}

/** Nothing on a single machine. */
export function machinesView(view: ReplicationView | null): Html {
  if (view === null) return html``;
  const machines = machinesIn(view);
  return html`<section id="machines" aria-labelledby="machines-title" data-live>
    <header>
      <h2 id="machines-title">Machines</h2>
      <span class="quiet">over ${view.origin}; this one is ${view.name}</span>
    </header>
    ${
      machines.length === 0
        ? html`<p class="quiet">None is heard of at present.</p>`
        : html`<table class="blocks">
            <thead>
              <tr>
                <th scope="col">Machine</th>
                <th scope="col">What it does</th>
                <th scope="col">How it stands</th>
              </tr>
            </thead>
            <tbody>
              ${machines.map(
                ({ name, does, how }) =>
                  html`<tr>
                    <th scope="row">${name}</th>
                    <td data-label="does">${does}</td>
                    <td data-label="stands">${how}</td>
                  </tr>`,
              )}
            </tbody>
          </table>`
    }
  </section>`;
}

function machinesIn({ name, members, replica }: ReplicationView): Machine[] {
  const receivers = members.receivers.map((at): Machine => {
    const waiting = `${quantity(at.backlog)} to forward, the oldest for ${duration(at.backlog_age_ms)}`;
    return {
      name: at.name,
      does: 'receives webhooks',
      how: at.backlog === 0 ? 'all forwarded' : waiting,
    };
  });
  const replicas = members.replicas.map((at): Machine => {
    const position = `entry ${quantity(at.last_seq)}`;
    return {
      name: at.name,
      does: at.is_leading ? 'keeps a mirror, and reads from the store' : 'keeps a mirror',
      how: at.is_up_to_date ? `up to date, ${position}` : `behind, ${position}`,
    };
  });
  // A copy of a primary has no others to hear of.
  const alone = receivers.length === 0 && replicas.length === 0 && replica !== null;
  if (alone) return [{ name, does: 'keeps a mirror', how: standingOf(replica) }];
  return [...receivers, ...replicas];
}

function standingOf({ left, behind_ms, trouble }: NonNullable<ReplicationView['replica']>): string {
  if (trouble !== null) return `cut off: ${trouble}`;
  if (behind_ms === null || left > 0) return `behind, ${quantity(left)} entries are not here yet`;
  return 'up to date';
}
