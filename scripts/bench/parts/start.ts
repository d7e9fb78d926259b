/** (g) How long a start takes, from the process to the first delivery that it answers 204. */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { signBody } from '../../../src/store-api/signature.ts';
import { present } from '../../../test/shared/present.ts';
import type { Bench, Part } from '../bench.ts';
import { prepareDeliveries } from '../deliveries.ts';
import { median } from '../distribution.ts';
import { FilledLevels } from '../fill.ts';
import { filledDatabase, FILLED_SECRET, freePort, startFilled, stoppedJustNow } from '../filled.ts';
import { seeded } from '../random.ts';
import { below, type Row } from '../row.ts';

const TRY_EVERY_MS = 2;
const GIVE_UP_MS = 60_000;

async function run(bench: Bench): Promise<Row[]> {
  const { quick, say, memoryFolder } = bench;
  const starts = quick ? 1 : 3;
  const levels = quick ? 1_000_000 : 10_000_000;
  const large = await filledDatabase(bench, levels);
  const took = { empty: [] as number[], large: [] as number[] };
  // The first of each is not counted.
  for (let i = 0; i <= starts; i += 1) {
    const emptyMs = await startOn(join(memoryFolder, `start-${i}.db`), bench);
    stoppedJustNow(large);
    const largeMs = await startOn(large, bench);
    if (i === 0) continue;
    took.empty.push(emptyMs);
    took.large.push(largeMs);
  }
  say(
    `empty ${took.empty.map((ms) => ms.toFixed(0)).join(' ')}, filled ${took.large.map((ms) => ms.toFixed(0)).join(' ')} ms`,
  );
  const emptyMs = median(took.empty);
  const largeMs = median(took.large);
  return [
    {
      part: 'g',
      what: 'start to the first 204, no database yet',
      ours: `${emptyMs.toFixed(0)} ms`,
      against: null,
      ratio: null,
      target: below(emptyMs, 500, 'ms'),
      figures: { medianMs: emptyMs, slowestMs: Math.max(...took.empty), starts },
    },
    {
      part: 'g',
      what: `start to the first 204, ${levels / 1_000_000} M levels`,
      ours: `${largeMs.toFixed(0)} ms`,
      against: `${emptyMs.toFixed(0)} ms with none`,
      ratio: largeMs / emptyMs,
      target: null,
      figures: { medianMs: largeMs, slowestMs: Math.max(...took.large), starts, levels },
    },
  ];
}

let serial = 0;

/** @returns the time from the start of the process to the first 204. */
async function startOn(path: string, { folder }: Bench): Promise<number> {
  const port = await freePort();
  const body = deliveryBody();
  const request: RequestInit = {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'X-Service-Signature': signBody(FILLED_SECRET, body) },
    body,
  };
  const beganMs = performance.now();
  const mirror = await startFilled(path, folder, port);
  const untilAnswered = async (): Promise<number> => {
    while (performance.now() - beganMs < GIVE_UP_MS) {
      const status = await fetch(`http://127.0.0.1:${port}/webhooks`, request).then(
        (response) => response.status,
        () => null,
      );
      if (status === 204) return performance.now() - beganMs;
      await sleep(TRY_EVERY_MS);
    }
    throw new Error(`no delivery was answered in ${GIVE_UP_MS / 1_000} s`);
  };
  try {
    const tookMs = await untilAnswered();
    await mirror.listening();
    return tookMs;
  } finally {
    await mirror.end();
  }
}

function deliveryBody(): Uint8Array<ArrayBuffer> {
  serial += 1;
  const startMs = Date.now();
  const recipe = {
    count: 1,
    secret: FILLED_SECRET,
    label: `start-${startMs}-${serial}`,
    startMs,
    everyMs: 0,
    apart: 0,
  };
  const delivery = present(prepareDeliveries(new FilledLevels(10_000), recipe, seeded(serial))[0]);
  return Uint8Array.from(delivery.body);
}

export const start: Part = { id: 'g', title: 'time from start to the first answer', run, pace: 'tolerant' };
