import { expect, test } from 'vitest';
import { CLOSED, failed, mayCall, probing, succeeded, type Breaker } from '../../src/traffic/breaker.ts';
import { T0 } from '../core/builders.ts';

const POLICY = { failures: 3, backoff: { baseMs: 1_000, capMs: 8_000 } };
const fail = (breaker: Breaker): Breaker => failed(breaker, POLICY, T0, 0.5);

test('opens at the third failure in a row, probes after a wait, closes with a success', () => {
  const twice = fail(fail(CLOSED));
  expect(mayCall(twice, T0)).toBe('yes');
  const open = fail(twice);
  expect(open).toEqual({ kind: 'open', opens: 1, probeAtMs: T0 + 500 });
  expect(mayCall(open, T0 + 499)).toBe('no');
  expect(mayCall(open, T0 + 500)).toBe('probe');
  expect(mayCall(probing(open), T0 + 500)).toBe('no');
  expect(mayCall(succeeded(), T0)).toBe('yes');
});

test('a failed probe waits longer', () => {
  const open = fail(fail(fail(CLOSED)));
  expect(fail(probing(open))).toEqual({ kind: 'open', opens: 2, probeAtMs: T0 + 1_000 });
});

test('a call that was under way when it opened changes nothing', () => {
  const open = fail(fail(fail(CLOSED)));
  expect(fail(open)).toBe(open);
});

test('failures are counted from nothing after a success', () => {
  expect(fail(succeeded())).toEqual({ kind: 'closed', failures: 1 });
});

test('a probe out of a closed breaker has not opened yet', () => {
  expect(probing(CLOSED)).toEqual({ kind: 'probing', opens: 0 });
});
