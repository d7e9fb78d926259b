/** Reads server-sent events and can be cut. */
import { request, type ClientRequest } from 'node:http';
import { onTestFinished } from 'vitest';
import { present } from '../shared/present.ts';

interface SentEvent {
  readonly id: string | null;
  readonly name: string;
  readonly data: unknown;
}

export class EventReader {
  readonly events: SentEvent[] = [];
  lastId: string | null = null;
  status: number | null = null;
  body = '';
  isOver = false;
  readonly #outgoing: ClientRequest;
  #rest = '';

  constructor(url: string, { lastId }: { lastId?: string | null } = {}) {
    const headers = lastId === undefined || lastId === null ? {} : { 'last-event-id': lastId };
    this.#outgoing = request(url, { headers, agent: false }, (incoming) => {
      this.status = incoming.statusCode ?? 0;
      incoming.setEncoding('utf8').on('close', () => (this.isOver = true));
      incoming.on('data', (text: string) => this.#take(text));
    });
    this.#outgoing.on('error', () => (this.isOver = true)).end();
    onTestFinished(() => this.cut());
  }

  cut(): void {
    this.#outgoing.destroy();
  }

  of(name: string): SentEvent[] {
    return this.events.filter((event) => event.name === name);
  }

  get seqs(): number[] {
    return this.of('change').map(({ id }) => Number(id));
  }

  #take(text: string): void {
    this.body += text;
    const blocks = (this.#rest + text).split('\n\n');
    this.#rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const fields = new Map(
        block.split('\n').map((line) => [present(line.split(':')[0]), line.slice(line.indexOf(':') + 2)]),
      );
      this.lastId = fields.get('id') ?? this.lastId;
      const data = fields.get('data');
      if (data === undefined) continue;
      this.events.push({
        id: fields.get('id') ?? null,
        name: fields.get('event') ?? 'message',
        data: JSON.parse(data),
      });
    }
  }
}
