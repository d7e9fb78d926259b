/** A relay in front of a port of 127.0.0.1, for what networks do. */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

export interface Way {
  readonly port: number;
  /** Ends all connections that go over it. */
  cut(): void;
  /** What goes over it from now on goes nowhere, and no connection ends. */
  swallow(): void;
  /** Where it leads from now on. */
  lead(port: number): void;
  /** No connection goes over it any more. */
  close(): void;
}

export async function openWay(port: number): Promise<Way> {
  let to = port;
  let isSwallowing = false;
  const open = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(to, '127.0.0.1');
    for (const socket of [near, far]) {
      open.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        open.delete(socket);
        near.destroy();
        far.destroy();
      });
    }
    near.on('data', (bytes) => isSwallowing || far.write(bytes));
    far.on('data', (bytes) => isSwallowing || near.write(bytes));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const cut = (): void => {
    for (const socket of open) socket.destroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    cut,
    swallow: () => (isSwallowing = true),
    lead: (other) => {
      to = other;
      isSwallowing = false;
      // Connections are kept for the next request: they would still lead to where it led before.
      cut();
    },
    close: () => {
      cut();
      server.close();
    },
  };
}
