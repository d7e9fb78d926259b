import type { Client } from './client.ts';
import type { Connection } from './connection.ts';
import type { Layout } from './layout.ts';
import type { EngineDeps } from './options.ts';

/** What everything in here is made of. */
export interface Parts extends EngineDeps {
  readonly client: Client;
  readonly connection: Connection;
  readonly layout: Layout;
}
