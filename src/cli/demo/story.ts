/** Tells, a line each, what the network did to the deliveries and what the mirror found and repaired. */
import pc from 'picocolors';
import type { DeliveryRecord } from '../../sandbox/deliveries.ts';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import type { LogLine } from './mirror-process.ts';

export interface Tally {
  sent: number;
  lost: number;
  duplicated: number;
  overtaken: number;
  notAnswered: number;
  gapsOpened: number;
  gapsClosedByLateDelivery: number;
  lossesProved: number;
  drifts: number;
}

export interface Story {
  readonly tally: Tally;
  /** @returns the way to stop listening. */
  listenTo(sandbox: Sandbox): () => void;
  log(line: LogLine): void;
  say(text: string): void;
}

/** More lines a second than this cannot be read; the tally counts the rest. */
const LINES_PER_SECOND = 8;

export function createStory(write: (text: string) => void): Story {
  const startedAtMs = performance.now();
  const tally: Tally = {
    sent: 0,
    lost: 0,
    duplicated: 0,
    overtaken: 0,
    notAnswered: 0,
    gapsOpened: 0,
    gapsClosedByLateDelivery: 0,
    lossesProved: 0,
    drifts: 0,
  };
  let second = 0;
  let lines = 0;
  let latestTimeMs = 0;

  const say = (text: string): void => {
    const seconds = (performance.now() - startedAtMs) / 1_000;
    write(`${pc.dim(`${seconds.toFixed(1).padStart(5)} s`)}  ${text}\n`);
  };
  const tell = (text: string): void => {
    const now = Math.floor((performance.now() - startedAtMs) / 1_000);
    if (now !== second) lines = 0;
    second = now;
    if (lines++ < LINES_PER_SECOND) say(text);
  };

  const onDelivery = (record: DeliveryRecord): void => {
    if (record.duplicate) {
      tally.duplicated += 1;
      tell(`${pc.magenta('duplicate')}  ${what(record)} was delivered twice`);
      return;
    }
    tally.sent += 1;
    if (record.outcome === 'lost') {
      tally.lost += 1;
      tell(`${pc.red('lost')}       ${what(record)}`);
      return;
    }
    if (record.outcome !== 'answered' || record.status === null || record.status > 299) {
      tally.notAnswered += 1;
      tell(`${pc.red('missed')}     ${what(record)} found nobody listening`);
      return;
    }
    const { requestTimeMs } = record.delivery;
    if (requestTimeMs < latestTimeMs) {
      tally.overtaken += 1;
      tell(`${pc.yellow('late')}       ${what(record)} was overtaken by ${latestTimeMs - requestTimeMs} ms`);
    }
    latestTimeMs = Math.max(latestTimeMs, requestTimeMs);
  };

  return {
    tally,
    say,
    listenTo: (sandbox) => sandbox.deliveries.onSettled(onDelivery),
    log(line): void {
      switch (line.msg) {
        case 'gap_opened':
          tally.gapsOpened += 1;
          tell(`${pc.cyan('gap')}        ${gapOf(line)}: a delivery is late or lost`);
          return;
        case 'gap_closed':
          tally.gapsClosedByLateDelivery += 1;
          tell(`${pc.green('closed')}     ${gapOf(line)}: the late delivery came`);
          return;
        case 'a delivery is lost: its cell is repaired, the products that move are read':
          tally.lossesProved += 1;
          tell(
            `${pc.green('proved')}     a delivery for ${String(line['variantId'])} is lost; its product was read`,
          );
          return;
        case 'a read found a difference and corrected it':
          tally.drifts += 1;
          tell(
            `${pc.green('repaired')}   ${String(line['variantId'])} ${String(line['oldQty'])} → ${String(line['newQty'])} (${String(line['cause'])})`,
          );
          return;
        default:
          if (line.level === 'error' || line.level === 'fatal') say(`${pc.red(line.level)}      ${line.msg}`);
      }
    },
  };
}

function what({ delivery }: DeliveryRecord): string {
  const [first] = delivery.items;
  const more = delivery.items.length > 1 ? ` and ${delivery.items.length - 1} more` : '';
  return first === undefined
    ? 'an empty delivery'
    : `${first.id} ${first.old} → ${first.new}${more} (${first.reason})`;
}

function gapOf(line: LogLine): string {
  const gap = line['gap'] as { variantId: string; fromQty: number; toQty: number };
  return `${gap.variantId}: ${gap.fromQty} … ${gap.toQty}`;
}
