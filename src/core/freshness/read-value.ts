/**
 * What a read is worth: the wrong time that it saves (docs/freshness.md#what-a-read-is-worth). For a level that changes
 * at a rate λ, of which a share q is lost, the least wrong time for a price μ per read is to read it once its uncertainty h (how
 * many of its changes are expected lost since it was last certain) reaches the point where this value is μ.
 */

/** One product, as the model sees it at an instant. */
export interface Uncertainty {
  /** Changes expected lost since the product was read, and since the last change of it that fitted. */
  readonly lostSinceRead: number;
  readonly lostSinceChange: number;
  /** How many changes of it are expected in a millisecond. */
  readonly changesPerMs: number;
  /** Its stock levels: a change makes one of them certain, a read all. */
  readonly levels: number;
}

/** Below this the closed form is a difference of nearly equal figures. */
const SMALL = 1e-3;

/**
 * The wrong time saved, in units of the mean time between two changes of the level.
 *
 * @param h changes of the level that are expected lost since it was certain.
 * @param q the share of changes that is lost from now on, above 0 and below 1.
 */
export function valueOfUncertainty(h: number, q: number): number {
  if (h <= 0) return 0;
  // (1 − e^(−λT))/λ − e^(−qλT)·(1 − e^(−dT))/d, where d = (1 − q)·λ, by λ and with h = qλT.
  const x = h / q;
  if (x < SMALL) return (h * x) / 2;
  return -Math.expm1(-x) + (Math.exp(-h) * Math.expm1(h - x)) / (1 - q);
}

/** In wrong level-milliseconds. @param lossRate the share of changes that is lost from now on. */
export function readValueMs(uncertainty: Uncertainty, lossRate: number): number {
  const { levels, changesPerMs } = uncertainty;
  return (levels * valueOfUncertainty(uncertaintyOfLevel(uncertainty), lossRate)) / (changesPerMs / levels);
}

/** How many of the product's levels are expected to be wrong. */
export function expectedWrong(uncertainty: Uncertainty): number {
  return uncertainty.levels * -Math.expm1(-uncertaintyOfLevel(uncertainty));
}

/** Of its levels one is as certain as the last change, the others as the last read. */
function uncertaintyOfLevel({ lostSinceRead, lostSinceChange, levels }: Uncertainty): number {
  return (lostSinceRead + (lostSinceChange - lostSinceRead) / levels) / levels;
}
