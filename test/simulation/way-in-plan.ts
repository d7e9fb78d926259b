/** Draws what happens in front of the port: strangers, a proxy that fails, and secrets that do not fit. */
import type { Random } from '../../src/sandbox/world/random.ts';

/** What a proxy does to every webhook for a while. `delays` loses nothing. */
export const PROXY_FAULTS = [
  'loses',
  'alters',
  'drops_signature',
  'wrong_path',
  'other_protocol',
  'delays',
] as const;
export type ProxyFault = (typeof PROXY_FAULTS)[number];

/** `unread`: requests that the listener refuses before anything reads their body. */
const STRANGERS = ['unsigned', 'wrongly_signed', 'unread', 'all'] as const;

export interface StrangersDeed {
  readonly do: 'strangers';
  readonly who: (typeof STRANGERS)[number];
  readonly variants: 'known' | 'unknown' | 'both';
  /** `guessed`: often the present one, as on a page of the shop; `absurd`: one that the store never has. */
  readonly quantities: 'guessed' | 'absurd';
  readonly everyMs: number;
  readonly forMs: number;
}

/**
 * `replaced`: the store has a new secret, and the mirror gets it after a while; `mistyped`: the mirror is started with
 * a wrong one, and later with the right one.
 */
export const SECRET_FAULTS = ['replaced', 'mistyped'] as const;

export type OutageDeed =
  | { readonly do: 'proxy'; readonly fault: ProxyFault; readonly forMs: number }
  | { readonly do: 'secret'; readonly how: (typeof SECRET_FAULTS)[number]; readonly forMs: number };

export type WayInDeed = StrangersDeed | OutageDeed | { readonly do: 'send_test' };

export function drawStrangers(random: Random): StrangersDeed {
  return {
    do: 'strangers',
    who: random.pick(STRANGERS),
    variants: random.pick(['known', 'known', 'unknown', 'both']),
    quantities: random.pick(['guessed', 'absurd']),
    everyMs: random.pick([100, 700, 5_000]),
    forMs: random.pick([random.int(1_000, 20_000), random.int(20_000, 150_000)]),
  };
}

/** @param hasSecrets whether the secret may be concerned. */
export function drawOutage(random: Random, hasSecrets: boolean): OutageDeed {
  const forMs = random.pick([random.int(2_000, 40_000), random.int(60_000, 200_000)]);
  if (hasSecrets && random.chance(0.25)) return { do: 'secret', how: random.pick(SECRET_FAULTS), forMs };
  return { do: 'proxy', fault: random.pick(PROXY_FAULTS), forMs };
}
