/** A question of the bench, and the parts of several. */
import { Stage } from './stage.ts';

export interface Bench {
  /** Shorter runs and smaller catalogues. */
  readonly quick: boolean;
  /** A folder that is removed at the end. */
  readonly folder: string;
}

export interface Row {
  readonly what: string;
  readonly result: string;
  readonly target: string;
  readonly met: boolean;
  /** Only a ratio fails the run, and only one that a busy machine does not explain. */
  readonly fails?: boolean;
}

export const CONNECTIONS = 256;
export const PER_SECOND = 2_000;
/** 20,000 levels. */
export const PRODUCTS = 2_000;

export async function withStage<T>(
  { folder }: Bench,
  products: number,
  measure: (stage: Stage) => Promise<T>,
): Promise<T> {
  const stage = await Stage.open(folder, products);
  try {
    return await measure(stage);
  } finally {
    await stage.close();
  }
}

export function quantile(values: ArrayLike<number>, share: number): number {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;
}

export const ms = (value: number): string => `${value.toFixed(1)} ms`;
/** The second before now: later than the reads, and no earlier than the deliveries of the load before. */
export const lastSecond = () => ({ fromMs: Date.now() - 1_000, toMs: Date.now() });

/** Prepares a load and sends it to the mirror, each delivery when it is due. */
export async function atRate(stage: Stage, seconds: number, perSecond = PER_SECOND) {
  const count = perSecond * seconds;
  const fromMs = Date.now() + 2_000 + count / 10;
  const changes = await stage.prepare(count, { fromMs, toMs: fromMs + seconds * 1_000 });
  const { webhooks } = await stage.mirror.listening();
  const sent = stage.send(webhooks, {
    connections: CONNECTIONS,
    pace: 'by update time',
    changesStore: true,
  });
  return { fromMs, changes, sent };
}
