/** A seeded random source: the same seed and calls give the same results. */
export interface Random {
  readonly next: () => number;
  int(min: number, max: number): number;
  /** At 0 and 1 no number is drawn, so that an unused fault changes nothing. */
  chance(probability: number): boolean;
  pick<T>(items: readonly T[]): T;
  shuffle<T>(items: readonly T[]): T[];
}

/** A separate stream for each label: a network fault must not change the next order's products. */
export function createRandom(seed: number, label: string): Random {
  let state = mix(seed, label);

  // mulberry32
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
  const int = (min: number, max: number): number => min + Math.floor(next() * (max - min + 1));

  return {
    next,
    int,
    chance: (probability) => probability > 0 && (probability >= 1 || next() < probability),
    pick: (items) => itemAt(items, int(0, items.length - 1)),
    shuffle: (items) => {
      const shuffled = [...items];
      for (let i = shuffled.length - 1; i > 0; i -= 1) {
        const j = int(0, i);
        [shuffled[i], shuffled[j]] = [itemAt(shuffled, j), itemAt(shuffled, i)];
      }
      return shuffled;
    },
  };
}

function itemAt<T>(items: readonly T[], index: number): T {
  const item = items[index];
  if (item === undefined) throw new RangeError('there is nothing to pick');
  return item;
}

function mix(seed: number, label: string): number {
  // FNV-1a: neighbouring seeds must not give neighbouring streams.
  let hash = 0x811c9dc5;
  for (const character of `${seed}/${label}`) {
    hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193);
  }
  return hash | 0;
}
