import type { ReplicationView } from '../../../src/ops/condition/replication.ts';

/** A process that shares its event log, and has heard of no other. */
export const ALONE: ReplicationView = {
  name: 'host-8788',
  origin: 'nats://10.0.0.1:4222',
  receiver: null,
  replica: null,
  lead: null,
  members: { receivers: [], replicas: [] },
};
