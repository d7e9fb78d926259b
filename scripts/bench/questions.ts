/** The questions of the bench. Each opens its own stage. */
import { burst, size, visible } from './answering.ts';
import { memory, night, start } from './footprint.ts';
import { besideOthers, duringResyncs } from './latency.ts';
import type { Bench, Row } from './question.ts';

export const QUESTIONS: Readonly<Record<string, { title: string; ask: (bench: Bench) => Promise<Row> }>> = {
  a: { title: 'deliveries answered per second in a burst', ask: burst },
  b: { title: 'answer times during full resyncs', ask: duringResyncs },
  c: { title: 'from a change to its visible row', ask: visible },
  d: { title: 'cost of an answer by the size of the mirror', ask: size },
  e: { title: 'memory of a first read, and idle', ask: memory },
  f: { title: 'from start to the first answer', ask: start },
  g: { title: 'memory after the deliveries of a night', ask: night },
  i: { title: 'answer times beside busy processes', ask: besideOthers },
};
