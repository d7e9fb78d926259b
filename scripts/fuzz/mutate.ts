/** Changes bodies at random: as bytes, and as JSON whose values are exchanged for odd ones. */
import { ODD_VALUES } from '../../test/hostile/bodies.ts';

/** In [0, 1), the same for the same seed (mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const MAX_BYTES = 20_000;
const VALUE = /"(?:[^"\\]|\\.)*"(?!\s*:)|-?\d[\d.eE+-]*|true|false|null/g;

type Mutator = (body: Buffer, below: (limit: number) => number, other: Buffer) => Buffer;

const MUTATORS: readonly Mutator[] = [
  (body, below) => {
    const copy = Buffer.from(body);
    if (copy.length > 0) copy[below(copy.length)] = below(256);
    return copy;
  },
  (body, below) => {
    const at = below(body.length + 1);
    return Buffer.concat([body.subarray(0, at), body.subarray(at + 1 + below(20))]);
  },
  (body, below) => {
    const at = below(body.length + 1);
    const piece = body.subarray(at, at + 1 + below(200));
    return Buffer.concat([body.subarray(0, at), piece, piece, body.subarray(at)]);
  },
  (body, below, other) =>
    Buffer.concat([body.subarray(0, below(body.length + 1)), other.subarray(below(other.length + 1))]),
  (body, below) => {
    const text = body.toString('latin1');
    const values = [...text.matchAll(VALUE)];
    const chosen = values[below(values.length)];
    if (chosen === undefined) return body;
    const odd = ODD_VALUES[below(ODD_VALUES.length)] ?? 'null';
    return Buffer.concat([
      body.subarray(0, chosen.index),
      Buffer.from(odd),
      body.subarray(chosen.index + chosen[0].length),
    ]);
  },
];

export function mutate(body: Uint8Array, other: Uint8Array, random: () => number): Buffer {
  const below = (limit: number): number => Math.floor(random() * limit);
  let mutated: Buffer = Buffer.from(body);
  for (let n = 0; n <= below(4); n += 1) {
    const mutator = MUTATORS[below(MUTATORS.length)];
    if (mutator !== undefined) mutated = mutator(mutated, below, Buffer.from(other));
  }
  return mutated.subarray(0, MAX_BYTES);
}
