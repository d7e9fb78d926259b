import { connectTo } from './engines.ts';
import { hasServer, needsServer, startServers } from './server.ts';
import { testEngine } from '../engine-contract.ts';

testEngine(
  async () => {
    const cluster = await startServers(1);
    return {
      connect: (store) => connectTo(cluster.urls, { store }),
      close: async () => {
        await cluster[Symbol.asyncDispose]();
      },
    };
  },
  { skip: !hasServer, needs: needsServer },
);
