/** Reads server-sent events. */
import { FeedError } from './errors.ts';

export interface SentEvent {
  /** Empty for a block without an event, such as a comment. */
  readonly name: string;
  readonly id: string | null;
  readonly data: string;
}

/** A page of the mirror's feed has 500 changes of about 600 bytes; a trust object 1,000 rows of about 100. */
const LONGEST_BLOCK = 4_000_000;

/** Splits the text into blocks. The last one may still be incomplete; `take` keeps it. */
export class BlockReader {
  #rest = '';

  take(text: string): SentEvent[] {
    const blocks = (this.#rest + text).replaceAll('\r\n', '\n').split('\n\n');
    this.#rest = blocks.pop() ?? '';
    if (this.#rest.length > LONGEST_BLOCK)
      throw new FeedError('malformed', 'an event of the stream never ends');
    return blocks.map(eventOf);
  }
}

function eventOf(block: string): SentEvent {
  let name = '';
  let id: string | null = null;
  const data: string[] = [];
  for (const line of block.split('\n')) {
    const colon = line.indexOf(':');
    if (colon === -1) continue;
    const field = line.slice(0, colon);
    const value = line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    if (field === 'event') name = value;
    else if (field === 'id') id = value;
    else if (field === 'data') data.push(value);
  }
  return { name, id, data: data.join('\n') };
}
