import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { Throttle } from '../../src/reconcile/throttle.ts';
import type { Blocked } from '../../src/store-api/blocked.ts';
import { ServiceError } from '../../src/store-api/transport/errors.ts';
import { serviceError } from './mirror.ts';

function throttleWith(options: { maxConcurrency?: number; maxRps?: number } = {}) {
  const time = { nowMs: 1_000_000, setBackMs: 0 };
  const elapsed = vi.spyOn(performance, 'now').mockImplementation(() => time.nowMs);
  onTestFinished(() => elapsed.mockRestore());
  const news: (Blocked | null)[] = [];
  const throttle = new Throttle({
    now: () => time.nowMs - time.setBackMs,
    random: () => 0.999,
    maxConcurrency: options.maxConcurrency ?? 8,
    maxRps: options.maxRps ?? 1_000_000,
    onBlocked: (why) => news.push(why),
  });
  const send = <T>(answer: () => Promise<T>): Promise<T> => {
    time.nowMs += 1;
    expect(throttle.free()).toBeGreaterThan(0);
    return throttle.send(answer);
  };
  const ok = () => send(() => Promise.resolve('answer'));
  const fail = (error: Error) => send(() => Promise.reject(error)).catch(() => undefined);
  return { time, news, throttle, send, ok, fail };
}

describe('concurrency', () => {
  test('grows with every answer up to its ceiling, and is halved once by one overload', async () => {
    const { throttle, time, send, ok, fail } = throttleWith();
    const allowed = (afterMs = 1) => {
      time.nowMs += afterMs;
      return throttle.free();
    };
    expect(allowed()).toBe(2);
    for (let i = 0; i < 100; i += 1) await ok();
    expect(allowed()).toBe(8);
    const overload = Promise.withResolvers<never>();
    const failing = Array.from({ length: 4 }, () => send(() => overload.promise).catch(() => undefined));
    time.nowMs += 1;
    overload.reject(serviceError('unavailable'));
    await Promise.all(failing);
    expect(allowed()).toBe(4);
    await fail(serviceError('rate_limited', 0));
    expect(allowed(1_000)).toBe(2);
  });

  test('subtracts requests in flight', async () => {
    const { throttle, time, send } = throttleWith({ maxConcurrency: 2 });
    const answer = Promise.withResolvers<string>();
    const first = send(() => answer.promise);
    time.nowMs += 1;
    expect(throttle.free()).toBe(1);
    const second = send(() => answer.promise);
    time.nowMs += 1;
    expect(throttle.free()).toBe(0);
    answer.resolve('');
    await Promise.all([first, second]);
    expect(throttle.free()).toBe(2);
  });

  test('keeps the rate below its limit, whatever the concurrency', async () => {
    const { throttle, time } = throttleWith({ maxRps: 10 });
    let sent = 0;
    for (let ms = 0; ms < 2_000; ms += 5) {
      time.nowMs += 5;
      while (throttle.free() > 0) {
        sent += 1;
        await throttle.send(() => Promise.resolve(''));
      }
    }
    expect(sent).toBeGreaterThanOrEqual(20);
    expect(sent).toBeLessThanOrEqual(22);
  });
});

describe('the breaker', () => {
  test('opens after five failures in a row, probes less and less often and closes with a success', async () => {
    const { throttle, time, news, ok, fail } = throttleWith();
    for (let i = 0; i < 5; i += 1) await fail(serviceError('unavailable'));
    expect(throttle.free()).toBe(0);
    expect(throttle.blocked).toMatchObject({ kind: 'breaker' });

    const pausesMs: number[] = [];
    for (let i = 0; i < 7; i += 1) {
      const pauseMs = throttle.freeInMs();
      pausesMs.push(pauseMs);
      time.nowMs += pauseMs - 1;
      expect(throttle.free()).toBe(0);
      time.nowMs += 1;
      expect(throttle.free()).toBe(1);
      const probe = Promise.withResolvers<never>();
      const sent = throttle.send(() => probe.promise).catch(() => undefined);
      expect(throttle.free()).toBe(0);
      probe.reject(serviceError('unavailable'));
      await sent;
    }
    expect(pausesMs).toEqual([999, 1_998, 3_996, 7_992, 15_984, 29_970, 29_970]);
    expect(news).toHaveLength(1);

    time.nowMs += throttle.freeInMs();
    await ok();
    time.nowMs += 1;
    expect(throttle.blocked).toBeNull();
    expect(news).toEqual([expect.objectContaining({ kind: 'breaker' }), null]);
    expect(throttle.free()).toBeGreaterThan(0);
  });

  test.each([
    ['a pause asked for', serviceError('rate_limited', 1_000)],
    ['refused credentials', serviceError('credentials')],
    ['a stop', serviceError('aborted')],
    ['trouble on this side', new Error('the disk is full')],
  ])('sends another probe after one that ends with %s', async (_, error) => {
    const { throttle, time, fail } = throttleWith();
    for (let i = 0; i < 5; i += 1) await fail(serviceError('unavailable'));
    time.nowMs += 60_000;
    await fail(error);
    expect(throttle.free()).toBe(0);
    time.nowMs += 60_000;
    expect(throttle.free()).toBe(1);
  });

  test('ignores products that the store refuses', async () => {
    const { throttle, fail } = throttleWith();
    for (let i = 0; i < 50; i += 1) await fail(serviceError('rejected'));
    expect(throttle.blocked).toBeNull();
  });
});

describe('a pause', () => {
  test.each([0, undefined])('lasts a second at least when the store asks for %s ms', async (retryAfterMs) => {
    const { throttle, fail } = throttleWith();
    await fail(serviceError('rate_limited', retryAfterMs));
    expect(throttle.freeInMs()).toBe(1_000);
    expect(throttle.free()).toBe(0);
  });

  test('lasts until the latest time that the store has named', async () => {
    const { throttle, time, fail, ok } = throttleWith();
    const begunMs = time.nowMs;
    await Promise.all([fail(serviceError('rate_limited', 5_000)), fail(serviceError('rate_limited', 2_000))]);
    const untilMs = time.nowMs + throttle.freeInMs();
    expect(untilMs - begunMs).toBeGreaterThanOrEqual(5_000);
    time.nowMs = untilMs - 1;
    expect(throttle.free()).toBe(0);
    time.nowMs = untilMs;
    expect(throttle.free()).toBe(1);
    await ok();
    expect(throttle.blocked).toBeNull();
  });

  test('is not shortened by an operator, or by an answer that was in flight', async () => {
    const { throttle, time, send, fail, ok } = throttleWith();
    const answer = Promise.withResolvers<string>();
    const underWay = send(() => answer.promise);
    await fail(serviceError('rate_limited', 5_000));
    const untilMs = time.nowMs + throttle.freeInMs();
    answer.resolve('');
    await underWay;
    throttle.release();
    time.nowMs = untilMs - 1;
    expect(throttle.blocked).toMatchObject({ kind: 'rate_limited' });
    expect(throttle.free()).toBe(0);
    time.nowMs = untilMs;
    await ok();
    expect(throttle.blocked).toBeNull();
  });

  test('after refused credentials lasts 5 s, or until an operator’s request', async () => {
    const { throttle, time, fail } = throttleWith();
    await fail(serviceError('credentials'));
    expect(throttle.blocked).toMatchObject({ kind: 'credentials' });
    time.nowMs += 4_999;
    expect(throttle.free()).toBe(0);
    throttle.release();
    expect(throttle.blocked).toBeNull();
    expect(throttle.free()).toBeGreaterThan(0);
  });

  test.each<[string, Error, number]>([
    ['that the store asks for', serviceError('rate_limited', 5_000), 1],
    ['after refused credentials', serviceError('credentials'), 1],
    ['of the breaker', serviceError('unavailable'), 5],
  ])('%s does not last longer because the clock steps back', async (_, error, times) => {
    const { throttle, time, fail } = throttleWith();
    for (let i = 0; i < times; i += 1) await fail(error);
    expect(throttle.free()).toBe(0);
    time.setBackMs = 7 * 3_600_000;
    time.nowMs += 5_000;
    expect(throttle.freeInMs()).toBe(0);
    expect(throttle.free()).toBeGreaterThan(0);
  });

  test('after another store’s answer never ends', async () => {
    const { throttle, time, fail } = throttleWith();
    const underWay = fail(serviceError('rate_limited'));
    throttle.stopForWrongStore('store 2 answers');
    await underWay;
    throttle.release();
    await throttle.send(() => Promise.resolve('answer'));
    time.nowMs += 3_600_000;
    expect(throttle.blocked).toMatchObject({ kind: 'wrong_store' });
    expect(throttle.free()).toBe(0);
  });
});

test('gives a waiting turn precedence over the queue', async () => {
  const { throttle, time } = throttleWith({ maxConcurrency: 1 });
  const busy = Promise.withResolvers<string>();
  const read = throttle.send(() => busy.promise);
  const { signal } = new AbortController();
  const turn = throttle.turn(signal);
  busy.resolve('');
  await read;
  time.nowMs += 1_000;
  expect(throttle.free()).toBe(0);
  await turn;
  await throttle.send(() => Promise.resolve('a page'));
  time.nowMs += 1;
  expect(throttle.free()).toBe(1);
});

test('frees the place of an aborted turn', async () => {
  const { throttle, time } = throttleWith({ maxConcurrency: 1 });
  const busy = Promise.withResolvers<string>();
  const read = throttle.send(() => busy.promise);
  const controller = new AbortController();
  const turn = throttle.turn(controller.signal);
  controller.abort(new Error('stopped'));
  await expect(turn).rejects.toThrow();
  busy.resolve('');
  await read;
  time.nowMs += 1;
  expect(throttle.free()).toBe(1);
});

test('knows of no answer in the future of a clock that stepped back', async () => {
  const { throttle, time, ok } = throttleWith();
  await ok();
  expect(throttle.answeredAtMs).toBe(time.nowMs);
  time.setBackMs = 7 * 3_600_000;
  expect(throttle.answeredAtMs).toBe(0);
  await ok();
  expect(throttle.answeredAtMs).toBe(time.nowMs - time.setBackMs);
});

test('passes errors on to the caller', async () => {
  const { throttle } = throttleWith();
  const error = serviceError('contract');
  await expect(throttle.send(() => Promise.reject(error))).rejects.toBe(error);
  expect(error).toBeInstanceOf(ServiceError);
});
