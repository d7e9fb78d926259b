/** A mirror's private listener whose answers a test writes. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import type { Change, SellableRow, Trust } from '../../src/feed.ts';

type Answer = (response: ServerResponse, url: URL, request: IncomingMessage) => void;

export const EPOCH = 'e1';

export const TRUST: Trust & { readonly last_seq: number } = {
  state: 'live',
  cause: null,
  as_of: 1,
  last_seq: 0,
  untrusted: [],
  untrusted_count: 0,
};

export function row(variantId: string, over: Partial<SellableRow> = {}): SellableRow {
  return {
    variant_id: variantId,
    warehouse_id: '1',
    product_id: '10',
    sku: `SKU-${variantId}`,
    product_name: 'Lamp',
    variant_name: '',
    warehouse_name: null,
    available_qty: 5,
    allow_negative_stock: 0,
    trusted: 1,
    why_not: null,
    checked_at: 1,
    change_seq: 1,
    ...over,
  };
}

export function change(seq: number, variantId: string, over: Partial<Change> = {}): Change {
  return {
    seq,
    variant_id: variantId,
    warehouse_id: '1',
    sku: `SKU-${variantId}`,
    old_qty: 5,
    new_qty: 4,
    source: 'webhook',
    reason: null,
    order_id: null,
    user_id: null,
    update_time: null,
    recorded_at: 1,
    request_id: null,
    delta: -1,
    product_name: 'Lamp',
    variant_name: '',
    warehouse_name: null,
    ...over,
  };
}

export function sent(name: string, value: unknown): string {
  return `event: ${name}\ndata: ${JSON.stringify(value)}\n\n`;
}

export class FakeMirror {
  readonly asked: URL[] = [];
  rows: readonly SellableRow[] = [];
  lastSeq = 1;
  /** The time of the rows. */
  asOf = 0;
  isRead = true;
  /** Replaces the answers of a path. */
  readonly answers = new Map<string, Answer>();
  url = '';

  async start(): Promise<this> {
    const server = createServer((request, response) => {
      const url = new URL(request.url ?? '', 'http://mirror');
      this.asked.push(url);
      const answer = this.answers.get(url.pathname) ?? this.#usual(url.pathname);
      answer(response, url, request);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    return this;
  }

  /** Answers the stream with these texts and keeps it open. */
  stream(...texts: readonly string[]): void {
    this.answers.set('/api/changes/stream', (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(sent('epoch', { epoch: EPOCH, last_seq: this.lastSeq }) + texts.join(''));
    });
  }

  askedFor(path: string): URL[] {
    return this.asked.filter(({ pathname }) => pathname === path);
  }

  #usual(path: string): Answer {
    if (path === '/api/status') return (response) => json(response, 200, this.#status());
    if (path === '/api/sellable') return (response, url) => json(response, 200, this.#page(url));
    return (response) => json(response, 404, { error: 'not_found' });
  }

  #status() {
    return { epoch: EPOCH, last_full_sync_at: this.isRead ? 1 : null };
  }

  #page(url: URL) {
    const wanted = url.searchParams.get('variant_id')?.split(',');
    const sellable = this.rows.filter((each) => wanted?.includes(each.variant_id) !== false);
    return {
      epoch: EPOCH,
      last_seq: this.lastSeq,
      as_of: this.asOf,
      sellable,
      next: null,
      has_more: false,
    };
  }
}

export function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
