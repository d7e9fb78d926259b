import { expect, test } from 'vitest';
import { follow, type Batch, type FeedError, type FollowOptions } from '../../src/feed.ts';
import { change, EPOCH, FakeMirror, json, row, sent, TRUST } from './fake-mirror.ts';

const AT_1 = { epoch: EPOCH, seq: 1 };
const NO_TRUST = { kind: 'trust', trust: { state: 'stale', cause: 'starting_over', untrusted: null } };

/** Follows until the test has seen enough. */
async function batches(
  options: Partial<FollowOptions> & Pick<FollowOptions, 'url'>,
  isEnough: (received: readonly Batch[]) => boolean,
): Promise<{ received: Batch[]; problems: FeedError[] }> {
  const received: Batch[] = [];
  const problems: FeedError[] = [];
  const onProblem = (problem: FeedError): void => void problems.push(problem);
  for await (const batch of follow({ position: null, onProblem, ...options })) {
    received.push(batch);
    if (isEnough(received)) break;
  }
  return { received, problems };
}

const has =
  (kind: Batch['kind']) =>
  (received: readonly Batch[]): boolean =>
    received.at(-1)?.kind === kind;

const isLive = (received: readonly Batch[]): boolean =>
  received.some((batch) => batch.kind === 'trust' && batch.trust.state === 'live');

test('begins with the whole stock and goes on with changes, rows and trust', async () => {
  const mirror = await new FakeMirror().start();
  mirror.rows = [row('7'), row('8', { warehouse_id: null })];
  mirror.stream(
    `id: 2\n${sent('change', change(2, '7'))}id: 3\n\n${sent('trust', { ...TRUST, last_seq: 3 })}`,
  );
  const { received } = await batches({ url: mirror.url }, has('trust'));
  expect(received).toMatchObject([
    { kind: 'snapshot', why: 'first', isFirst: true, rows: mirror.rows, position: AT_1 },
    {
      kind: 'changes',
      changes: [{ seq: 2 }],
      rows: [{ variant_id: '7', warehouse_id: '1' }],
      removed: [{ variant_id: '7', warehouse_id: null }],
      position: { epoch: EPOCH, seq: 3 },
    },
    { kind: 'trust', trust: { state: 'live', untrusted: [] }, position: { epoch: EPOCH, seq: 3 } },
  ]);
});

test('asks below the path of a base address, with or without slashes at its end', async () => {
  const mirror = await new FakeMirror().start();
  mirror.answers.set('/shop/api/changes/stream', (response, _, request) => {
    expect(request.headers.authorization).toBe('Bearer t1');
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(sent('trust', TRUST));
  });
  const options = { position: AT_1, token: 't1' };
  await batches({ ...options, url: `${mirror.url}/shop//` }, has('trust'));
  await batches({ ...options, url: `${mirror.url}/shop` }, has('trust'));
  expect(mirror.asked.map(({ pathname }) => pathname)).toEqual([
    '/shop/api/changes/stream',
    '/shop/api/changes/stream',
  ]);
});

test('reads texts with separators of lines and paragraphs from the stream', async () => {
  const mirror = await new FakeMirror().start();
  const reason = 'a\u2028b\u2029c\u0085d\r\ne';
  mirror.stream(`id: 2\n${sent('change', change(2, '7', { reason }))}id: 2\n\n`);
  const { received } = await batches({ url: mirror.url, position: AT_1 }, has('changes'));
  expect(received).toMatchObject([{ changes: [{ reason }] }]);
});

test('holds the trust back until the copy has the changes that it is about', async () => {
  const mirror = await new FakeMirror().start();
  mirror.stream(
    `id: 2\n${sent('change', change(2, '7'))}id: 2\n\n${sent('trust', { ...TRUST, last_seq: 4 })}`,
    `id: 4\n${sent('change', change(4, '7'))}id: 4\n\n`,
  );
  const { received } = await batches({ url: mirror.url, position: AT_1 }, has('trust'));
  expect(received.map(({ kind, position }) => [kind, position?.seq])).toEqual([
    ['changes', 2],
    ['changes', 4],
    ['trust', 4],
  ]);
});

test('gives rows as of the position, untrusted while later changes are still to come', async () => {
  const mirror = await new FakeMirror().start();
  mirror.rows = [
    row('7', { available_qty: 1, change_seq: 9 }),
    row('7', { warehouse_id: '2', change_seq: 9 }),
  ];
  mirror.stream(`id: 2\n${sent('change', change(2, '7'))}id: 2\n\n`);
  const { received } = await batches({ url: mirror.url, position: AT_1 }, has('changes'));
  expect(received).toMatchObject([
    { rows: [{ warehouse_id: '1', available_qty: 4, trusted: 0, why_not: 'behind', change_seq: 2 }] },
  ]);
});

test('keeps the doubt of a row that was read after the trust was computed', async () => {
  const mirror = await new FakeMirror().start();
  mirror.rows = [row('7', { available_qty: 4, change_seq: 2, trusted: 0, why_not: 'gap' })];
  mirror.asOf = TRUST.as_of + 1;
  mirror.stream(`id: 2\n${sent('change', change(2, '7'))}id: 2\n\n${sent('trust', TRUST)}`);
  const { received } = await batches({ url: mirror.url, position: AT_1 }, has('trust'));
  expect(received).toMatchObject([
    { kind: 'changes', rows: [{ trusted: 0, why_not: 'gap' }] },
    { kind: 'trust', trust: { untrusted: [{ variant_id: '7', warehouse_id: '1', why_not: 'gap' }] } },
  ]);
});

test('drops a page that was cut off and asks for it again', async () => {
  const mirror = await new FakeMirror().start();
  mirror.answers.set('/api/changes/stream', (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const text = sent('epoch', { epoch: EPOCH, last_seq: 2 }) + `id: 2\n${sent('change', change(2, '7'))}`;
    response.write(text, () => {
      mirror.stream(`id: 2\n${sent('change', change(2, '7'))}id: 2\n\n`);
      response.destroy();
    });
  });
  const { received, problems } = await batches({ url: mirror.url, position: AT_1 }, has('changes'));
  expect(received.filter(({ kind }) => kind === 'changes')).toMatchObject([
    { changes: [{ seq: 2 }], position: { seq: 2 } },
  ]);
  expect(problems).toMatchObject([{ kind: 'unavailable' }]);
  expect(mirror.askedFor('/api/changes/stream').map((url) => url.searchParams.get('after'))).toEqual([
    '1',
    '1',
  ]);
});

for (const [status, error] of [
  [409, 'epoch_changed'],
  [410, 'pruned'],
  [410, 'ahead'],
] as const) {
  test(`trusts nothing after ${status} ${error}, and starts over once the mirror has read the whole store`, async () => {
    const mirror = await new FakeMirror().start();
    mirror.rows = [row('7')];
    mirror.isRead = false;
    mirror.answers.set('/api/changes/stream', (response) => json(response, status, { error }));
    const onProblem = (problem: FeedError): void => {
      expect(problem.kind).toBe('not_ready');
      mirror.isRead = true;
    };
    const options = { url: mirror.url, position: { epoch: 'e0', seq: 5 }, onProblem };
    const { received } = await batches(options, has('snapshot'));
    expect(received).toMatchObject([
      NO_TRUST,
      { why: error, isFirst: true, rows: mirror.rows, position: AT_1 },
    ]);
    expect(mirror.askedFor('/api/status')).toHaveLength(2);
  });
}

test('starts over after the event gone', async () => {
  const mirror = await new FakeMirror().start();
  mirror.stream(sent('gone', { error: 'pruned' }));
  const { received } = await batches({ url: mirror.url, position: AT_1 }, has('snapshot'));
  expect(received).toMatchObject([NO_TRUST, { kind: 'snapshot', why: 'pruned' }]);
});

test('adds the changes made during a snapshot before it ends', async () => {
  const mirror = await new FakeMirror().start();
  const page = (url: URL) => url.searchParams.get('after');
  mirror.answers.set('/api/sellable', (response, url) => {
    const ids = url.searchParams.get('variant_id');
    if (ids !== null) {
      const sellable = [row('7', { available_qty: 4, change_seq: 3 })];
      json(response, 200, { epoch: EPOCH, last_seq: 4, as_of: 0, sellable, next: null, has_more: false });
    } else if (page(url) === null) {
      json(response, 200, {
        epoch: EPOCH,
        last_seq: 2,
        as_of: 0,
        sellable: [row('7')],
        next: '7:1',
        has_more: true,
      });
    } else
      json(response, 200, {
        epoch: EPOCH,
        last_seq: 4,
        as_of: 0,
        sellable: [row('8')],
        next: null,
        has_more: false,
      });
  });
  mirror.answers.set('/api/changes', (response, url) => {
    expect(page(url)).toBe('2');
    json(response, 200, { epoch: EPOCH, changes: [change(3, '7')], next: 4, has_more: false });
  });
  const isWhole = (received: readonly Batch[]): boolean => received.at(-1)?.position !== null;
  const { received } = await batches({ url: mirror.url }, isWhole);
  expect(received).toMatchObject([
    { isFirst: true, rows: [{ variant_id: '7' }], position: null },
    { isFirst: false, rows: [{ variant_id: '8' }], position: null },
    { isFirst: false, rows: [{ variant_id: '7', available_qty: 4 }], position: { seq: 4 } },
  ]);
});

test('tries again after answers that are no mirror’s', async () => {
  const mirror = await new FakeMirror().start();
  const bad = ['<html>', sent('trust', {}), `id: 2\n${sent('change', { seq: '2' })}`];
  mirror.answers.set('/api/changes/stream', (response) => {
    const text = bad.shift();
    response.writeHead(200, { 'content-type': text === '<html>' ? 'text/html' : 'text/event-stream' });
    if (text === undefined) response.write(sent('trust', TRUST));
    else response.end(text);
  });
  const { problems } = await batches({ url: mirror.url, position: AT_1 }, isLive);
  expect(problems.map(({ kind }) => kind)).toEqual(['malformed', 'malformed', 'malformed']);
});

test('throws if the token is refused', async () => {
  const mirror = await new FakeMirror().start();
  mirror.answers.set('/api/status', (response) => json(response, 401, { error: 'invalid_token' }));
  await expect(batches({ url: mirror.url }, () => false)).rejects.toMatchObject({
    kind: 'refused',
    message: expect.stringContaining('invalid_token'),
  });
});

test('withdraws the trust while the mirror does not answer', async () => {
  const mirror = await new FakeMirror().start();
  mirror.answers.set('/api/changes/stream', (response) => response.destroy());
  const { received } = await batches({ url: mirror.url, position: AT_1 }, has('trust'));
  expect(received).toMatchObject([{ trust: { state: 'stale', cause: 'unreachable', untrusted: null } }]);
});

test('ends when its signal aborts, during a pause as during a stream', async () => {
  const mirror = await new FakeMirror().start();
  mirror.stream(`id: 2\n\n`);
  for (const url of [mirror.url, 'http://127.0.0.1:9']) {
    const aborting = new AbortController();
    const options = { url, position: AT_1, signal: aborting.signal, onProblem: () => aborting.abort() };
    for await (const batch of follow(options)) if (batch.kind === 'changes') aborting.abort();
  }
});

test('refuses impossible options', async () => {
  const first = (options: FollowOptions) => follow(options).next();
  await expect(first({ url: 'no address', position: null })).rejects.toThrow(TypeError);
  await expect(first({ url: 'http://a:b@localhost', position: null })).rejects.toThrow('token');
});
